// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package server starts the function runner and krmfn's other servers as processes, like a user would.
package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Process is a running server.
type Process struct {
	// Addr is the server's address, as host:port.
	Addr string

	name  string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

// Start starts a server with flags on a free port, and waits until it serves. The server logs to the file logFile. It is killed when ctx
// ends; Stop shuts it down gracefully.
func Start(ctx context.Context, binary, logFile string, flags ...string) (*Process, error) {
	return StartWith(ctx, nil, binary, logFile, flags...)
}

// StartWith is like Start, with additional environment variables in the form KEY=VALUE.
func StartWith(ctx context.Context, env []string, binary, logFile string, flags ...string) (*Process, error) {
	log, err := os.Create(logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close() //nolint:errcheck // the process has its own
	p := &Process{name: filepath.Base(binary), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, binary, append([]string{"--port=0", "--shutdown-delay=0s"}, flags...)...)
	p.cmd.Stderr, p.cmd.Env = log, append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	go func() {
		defer close(p.ended)
		p.err = p.cmd.Wait()
	}()
	return p, p.waitServing(logFile)
}

// waitServing polls the log until it contains the address of the server.
func (p *Process) waitServing(logFile string) error {
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for {
		over := false
		select {
		case <-poll.C:
		case <-p.ended:
			over = true
		}
		text, err := os.ReadFile(logFile)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(text) {
			var event struct{ Msg, Address string }
			if json.Unmarshal(line, &event) == nil && event.Msg == "serving" {
				_, port, err := net.SplitHostPort(event.Address)
				p.Addr = net.JoinHostPort("127.0.0.1", port)
				return err
			}
		}
		if over {
			return fmt.Errorf("%s ended before it served: %w\n%s", p.name, p.err, text)
		}
	}
}

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop sends SIGTERM to the process, as Kubernetes does, and waits for it to exit. It returns an error if the exit code is not 0.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	<-p.ended
	if p.err != nil {
		return fmt.Errorf("stop %s: %w", p.name, p.err)
	}
	return nil
}
