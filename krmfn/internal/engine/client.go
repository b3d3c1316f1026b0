// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// The engines, in order of preference.
const (
	Docker  = "docker"
	Podman  = "podman"
	Nerdctl = "nerdctl"
)

// Names lists all engines.
var Names = []string{Docker, Podman, Nerdctl}

const (
	// pingTime is the maximum time that an engine may take to answer.
	pingTime = 10 * time.Second
	// stopTime is the time between SIGTERM and SIGKILL when a command is stopped.
	stopTime = 5 * time.Second
	// maxReason is the maximum length, in bytes, of an engine's message in an error.
	maxReason = 500
)

// Client is the command line of a container engine.
type Client struct {
	// Name is one of Names.
	Name string
	// Program is the path of its executable. Environ is its environment.
	Program string
	Environ []string
}

// Find looks up an engine's client in the PATH of environ. The error wraps fs.ErrNotExist if there is none.
func Find(name string, environ []string) (Client, error) {
	path := ""
	for _, kv := range environ {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, name)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 && filepath.IsAbs(file) {
			return Client{Name: name, Program: file, Environ: environ}, nil
		}
	}
	return Client{}, fmt.Errorf("%s is not in PATH: %w", name, fs.ErrNotExist)
}

// Ping checks that the engine itself answers, not only that its client is installed.
func (c Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pingTime, fmt.Errorf("no answer within %v", pingTime))
	defer cancel()
	args := []string{"version"}
	if c.Name == Nerdctl {
		// nerdctl version succeeds without containerd.
		args = []string{"info"}
	}
	if _, err := c.output(ctx, args...); err != nil {
		return fmt.Errorf("%s does not answer: %w", c.Name, err)
	}
	return nil
}

// command returns a command of the engine. It has its own process group, so that signals of the terminal do not reach it: the caller
// stops it.
func (c Client) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Program, args...) //nolint:forbidigo // process.Runner is for functions; the engine's client must get SIGTERM first
	cmd.Env = c.Environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	return cmd
}

// output runs a command and returns its standard output. The error contains the engine's message.
func (c Client) output(ctx context.Context, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := c.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, explain(ctx, err, stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// remove removes a container if it exists.
func (c Client) remove(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTime)
	defer cancel()
	_, _ = c.output(ctx, "rm", "-f", name)
}

// explain returns the reason why a command failed: the context's cause if it is done, else the engine's last message, else err.
func explain(ctx context.Context, err error, stderr []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if words := lastMessage(stderr); words != "" {
		return errors.New(words)
	}
	return err
}

// lastMessage returns the last line of the engine's standard error that is a message, shortened to maxReason.
func lastMessage(stderr []byte) string {
	last := ""
	for line := range strings.Lines(string(stderr)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "See '") || strings.HasPrefix(line, "Run '") {
			continue
		}
		last = line
	}
	last = strings.TrimPrefix(strings.TrimPrefix(last, "docker: "), "Error: ")
	if len(last) > maxReason {
		last = strings.ToValidUTF8(last[:maxReason], "") + "…"
	}
	return last
}
