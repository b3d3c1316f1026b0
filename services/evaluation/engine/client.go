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

// The engines, in the order in which they are looked for.
const (
	Docker  = "docker"
	Podman  = "podman"
	Nerdctl = "nerdctl"
)

// Names are those of all engines.
var Names = []string{Docker, Podman, Nerdctl}

const (
	// pingTime is how long an engine may take to say that it is there.
	pingTime = 10 * time.Second
	// stopTime is how long a command may take to end that has been told to.
	stopTime = 5 * time.Second
	// maxReason is the most bytes of an engine's own words in an error.
	maxReason = 500
)

// Client is the command line of a container engine.
type Client struct {
	// Name is one of Names.
	Name string
	// Program is its executable, Environ its environment.
	Program string
	Environ []string
}

// Find looks for an engine's command line in the PATH of the environment. The error wraps fs.ErrNotExist if it is not there.
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
	return Client{}, fmt.Errorf("%s is not in the PATH: %w", name, fs.ErrNotExist)
}

// Ping finds out whether the engine answers, and not only its command line is there.
func (c Client) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, pingTime, fmt.Errorf("no answer within %v", pingTime))
	defer cancel()
	args := []string{"version"}
	if c.Name == Nerdctl {
		// Its version does without containerd.
		args = []string{"info"}
	}
	if _, err := c.output(ctx, args...); err != nil {
		return fmt.Errorf("%s does not answer: %w", c.Name, err)
	}
	return nil
}

// command returns a command of the engine. It is out of reach of the terminal's signals: whoever has started it ends it.
func (c Client) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.Program, args...) //nolint:forbidigo // an engine's client is not a function: it may be told to end, and says much
	cmd.Env = c.Environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	return cmd
}

// output runs a command and returns what it prints. The error has the engine's own words.
func (c Client) output(ctx context.Context, args ...string) ([]byte, error) {
	var stdout, stderr bytes.Buffer
	cmd := c.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, explain(ctx, err, stderr.Bytes())
	}
	return stdout.Bytes(), nil
}

// remove removes a container, if it is there.
func (c Client) remove(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), pingTime)
	defer cancel()
	_, _ = c.output(ctx, "rm", "-f", name)
}

// explain is why a command failed: the caller's reason to end it, or the engine's own last words.
func explain(ctx context.Context, err error, stderr []byte) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if words := lastWords(stderr); words != "" {
		return errors.New(words)
	}
	return err
}

// lastWords returns the last line that an engine has written and that says something, on one line.
func lastWords(stderr []byte) string {
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
