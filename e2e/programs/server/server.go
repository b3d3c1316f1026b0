// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package server runs the function runner, and what is served as it is, as the process that a user would start.
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

// Process is a server that runs.
type Process struct {
	// Addr is where it serves, host:port.
	Addr string

	name  string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error
}

// Start starts a server with flags on a port of the system's choice, and returns when it serves. Its log goes to
// the file logFile. It is killed when ctx ends; see Stop for the gentle way.
func Start(ctx context.Context, binary, logFile string, flags ...string) (*Process, error) {
	return StartWith(ctx, nil, binary, logFile, flags...)
}

// StartWith is Start with variables beside those of this process, as KEY=VALUE.
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

// waitServing reads the log until it says where calls are answered.
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

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop asks the process to finish, as Kubernetes does, and waits for it. The error says if it did not exit with code 0.
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
