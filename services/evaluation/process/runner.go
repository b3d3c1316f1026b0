// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/services/evaluation/process/internal/child"
)

// Options are what a Runner needs to know. Zero values mean the defaults.
type Options struct {
	// Limits bound each process.
	Limits Limits
	// ScratchRoot is where each process gets an empty directory of its own; empty means the system's directory for temporary files.
	ScratchRoot string
}

// Runner runs processes. It may be used by any number of goroutines at once.
type Runner struct {
	limits  Limits
	starter *child.Starter
}

// NewRunner returns a runner.
func NewRunner(o Options) *Runner {
	return &Runner{limits: o.Limits.withDefaults(), starter: child.NewStarter(o.ScratchRoot)}
}

// Limits returns what bounds each process.
func (r *Runner) Limits() Limits { return r.limits }

// Starter returns what starts the processes, for those whose processes answer many calls.
func (r *Runner) Starter() *child.Starter { return r.starter }

// Close removes the directories that are kept for the next processes. No process may be running.
func (r *Runner) Close() { r.starter.Close() }

// Reap collects what functions leave behind until ctx ends. At most one Reap may run in a process. It leaves alone the children
// that others have started, as long as they stay in this process's session. The error says why it cannot.
func (r *Runner) Reap(ctx context.Context) error { return r.starter.Reap(ctx) }

// Run starts a process with stdin on its standard input and waits for its end. Its process group, and the pipes, are gone
// when Run returns.
//
// A process that exits by itself is no error, whatever its exit code. Errors: *StartError, *OutputTooLargeError, and
// *KilledError when ctx ended first. Except after *StartError the outcome is filled.
func (r *Runner) Run(ctx context.Context, c Command, stdin []byte) (Outcome, error) {
	if ctx.Err() != nil {
		return Outcome{ExitCode: -1}, &KilledError{Cause: context.Cause(ctx)}
	}
	if len(c.Argv) == 0 {
		return Outcome{ExitCode: -1}, &StartError{Err: errors.New("the command is empty")}
	}
	begin := time.Now()
	p, err := r.starter.Start(c.Child())
	if err != nil {
		return Outcome{ExitCode: -1}, &StartError{Program: c.Argv[0], Err: err}
	}
	defer p.Close()
	started := time.Now()
	limits := r.limits
	if c.MaxStdout > 0 {
		limits.Stdout = c.MaxStdout
	}
	outcome, err := supervise(ctx, p, stdin, limits)
	outcome.Start, outcome.Execute = started.Sub(begin), time.Since(started)
	return outcome, err
}

// supervise feeds and drains the pipes until the process has ended, and leaves nothing of it behind.
func supervise(ctx context.Context, p *child.Child, stdin []byte, limits Limits) (Outcome, error) {
	stdout := &child.Head{Limit: limits.Stdout, OnFlood: p.Kill}
	// Most functions write about what they read.
	stdout.Guess(len(stdin))
	stderr := &child.Tail{Limit: int(limits.Stderr)}
	var pipes sync.WaitGroup
	p.Enlarge(len(stdin))
	if rest := child.Feed(p.Stdin, stdin); rest != nil {
		pipes.Go(rest)
	}
	pipes.Go(func() { child.Drain(p.Stdout, stdout) })
	pipes.Go(func() { child.Drain(p.Stderr, stderr) })
	stop := context.AfterFunc(ctx, p.Kill)
	state, err := p.Wait()
	stop()
	pipes.Wait()

	out := Outcome{ExitCode: state.ExitCode()}
	out.Stderr, out.StderrDropped = stderr.Output()
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		out.Signal = ws.Signal()
	}
	switch {
	case stdout.Full():
		return out, &OutputTooLargeError{Size: stdout.Size(), Limit: limits.Stdout}
	case ctx.Err() != nil && out.Signal == syscall.SIGKILL:
		out.Stdout = stdout.Output()
		return out, &KilledError{Cause: context.Cause(ctx)}
	case err != nil && !errors.As(err, new(*exec.ExitError)):
		return out, &KilledError{Cause: err}
	}
	out.Stdout = stdout.Output()
	return out, nil
}

// processors is how many there were before any of them was yielded.
var processors = runtime.GOMAXPROCS(0)

// Processors returns how many processors there are for this process and those that it starts.
func Processors() int { return processors }

// YieldProcessors leaves half of the processors to the functions, which do the work. A server that spreads over all of them
// wakes a sleeping one for every step of a call: with two, that is four fifths of what a call takes beyond its function.
// GOMAXPROCS in the environment takes precedence. It is for main functions.
func YieldProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/2, 1))
	}
}
