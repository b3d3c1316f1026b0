// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package runnerproc runs the function runner as the process that a user would start.
package runnerproc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
)

// Process is a function runner that runs.
type Process struct {
	// Addr is where it serves, host:port.
	Addr string

	cmd    *exec.Cmd
	copied sync.WaitGroup
}

// Start starts a function runner with flags on a port of the system's choice, and returns when it serves. Its log goes to
// log, which may be nil. It is killed when ctx ends; see Stop for the gentle way.
func Start(ctx context.Context, binary string, log io.Writer, flags ...string) (*Process, error) {
	if log == nil {
		log = io.Discard
	}
	p := &Process{cmd: exec.CommandContext(ctx, binary, append([]string{"--port=0"}, flags...)...)} //nolint:gosec // under test
	p.cmd.Env = append(os.Environ(), "GOMEMLIMIT=1GiB")
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the function runner: %w", err)
	}
	lines := bufio.NewReader(io.TeeReader(stderr, log))
	p.Addr, err = servingAddress(lines)
	p.copied.Go(func() { _, _ = io.Copy(io.Discard, lines) })
	if err != nil {
		p.copied.Wait()
		return nil, errors.Join(err, p.cmd.Wait())
	}
	return p, nil
}

// servingAddress reads the log up to the line that says where calls are answered.
func servingAddress(lines *bufio.Reader) (string, error) {
	var before []byte
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return "", fmt.Errorf("the function runner ended before it served:\n%s%s", before, line)
		}
		var event struct{ Msg, Address string }
		if json.Unmarshal(line, &event) == nil && event.Msg == "serving" {
			_, port, err := net.SplitHostPort(event.Address)
			return net.JoinHostPort("127.0.0.1", port), err
		}
		before = append(before, line...)
	}
}

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop asks the process to finish, as Kubernetes does, and waits for it. The error says if it did not exit with code 0.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	p.copied.Wait()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("stop the function runner: %w", err)
	}
	return nil
}
