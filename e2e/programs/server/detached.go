// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// Detached is a server that outlives the process that starts it.
type Detached struct {
	// Command is the command line. Log is the file for the server's output.
	Command []string
	Log     string
	// Answers returns nil if the server responds. Startup is the time limit until it does.
	Answers func(context.Context) error
	Startup time.Duration
}

// Start starts the server, and waits until it responds. Errors contain the path of the log.
func (d Detached) Start(ctx context.Context) error {
	log, err := os.Create(d.Log)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the server has its own
	cmd := exec.Command(d.Command[0], d.Command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	// A session of its own protects the server from the terminal's signals.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", d.Command[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // The goroutine ends with the server or this process.
	return d.await(ctx, ended)
}

func (d Detached) await(ctx context.Context, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(ctx, d.Startup)
	defer cancel()
	poll := time.NewTicker(50 * time.Millisecond)
	defer poll.Stop()
	for {
		err := d.Answers(ctx)
		if err == nil {
			return nil
		}
		select {
		case end := <-ended:
			return fmt.Errorf("%s ended before it answered: %w: see %s", d.Command[0], cmp.Or(end, errors.New("exit status 0")), d.Log)
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w: see %s", d.Command[0], err, d.Log)
		case <-poll.C:
		}
	}
}
