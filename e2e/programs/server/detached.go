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
	// Command is its command line, and Log the file that it writes to.
	Command []string
	Log     string
	// Answers returns nil once it answers, and Startup is how long that may take.
	Answers func(context.Context) error
	Startup time.Duration
}

// Start starts the server, and returns when it answers. Errors name its log.
func (d Detached) Start(ctx context.Context) error {
	log, err := os.Create(d.Log)
	if err != nil {
		return err
	}
	defer log.Close() //nolint:errcheck // the server has its own
	cmd := exec.Command(d.Command[0], d.Command[1:]...)
	cmd.Stdout, cmd.Stderr = log, log
	// In a session of its own, it does not get what the terminal sends.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", d.Command[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // It ends with the server, or this process.
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
