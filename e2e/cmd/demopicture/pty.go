// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	// columns and rows are the size of the terminal.
	columns, rows = 124, 60
	// maxOutput is the most bytes that a program may write.
	maxOutput = 1 << 20
)

// onTerminal runs a program in dir on a terminal of its own, and returns all that it writes there. The error has the end of that
// where the program fails.
func onTerminal(ctx context.Context, dir string, argv ...string) ([]byte, error) {
	master, slave, err := openTerminal()
	if err != nil {
		return nil, fmt.Errorf("open a terminal: %w", err)
	}
	// Whoever is still on the terminal when it is closed is told to end.
	defer master.Close()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, slave, slave, slave
	cmd.Env = append(os.Environ(), "TERM=xterm", "NO_COLOR=", "KPT_IMAGE_PREFIX=")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Start()
	_ = slave.Close() // the program has its own
	if err != nil {
		return nil, err
	}
	stopped := context.AfterFunc(ctx, func() { _ = master.Close() })
	defer stopped()
	output, err := io.ReadAll(io.LimitReader(master, maxOutput))
	// Linux says EIO when nobody is on the terminal any more.
	if errors.Is(err, syscall.EIO) {
		err = nil
	}
	if len(output) == maxOutput {
		err = fmt.Errorf("more than %d bytes of output", maxOutput)
	}
	if err != nil {
		_ = cmd.Process.Kill()
	}
	if ended := cmd.Wait(); err == nil && ended != nil {
		err = fmt.Errorf("%w: …%s", ended, output[max(0, len(output)-2000):])
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(argv, " "), err)
	}
	return output, nil
}

// openTerminal returns both ends of a terminal that is columns wide and rows high.
func openTerminal() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	number := 0
	err = control(master, func(fd int) error {
		var err error
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
		return err
	})
	if err == nil {
		slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		_ = master.Close()
		return nil, nil, err
	}
	err = control(slave, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: columns})
	})
	if err != nil {
		_, _ = master.Close(), slave.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

// control leaves a file as it is otherwise: with Fd, closing it would not end a read.
func control(f *os.File, request func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var requested error
	err = raw.Control(func(fd uintptr) { requested = request(int(fd)) })
	return errors.Join(err, requested)
}
