// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/internal/process/internal/child"
)

// Options configure a Runner. Zero values mean the defaults.
type Options struct {
	// Limits bound the output of each process.
	Limits Limits
	// ScratchRoot is the directory in which each process gets an empty directory of its own. Empty means the system's directory for
	// temporary files.
	ScratchRoot string
	// Standby configures standby processes. The default is none.
	Standby Standby
}

// Runner runs processes. It is safe for concurrent use.
type Runner struct {
	limits  Limits
	starter *child.Starter
	standby *store
	// earlyExit is the maximum time between the input and the exit of a process that is assumed to have exited without reading it.
	earlyExit time.Duration
}

// NewRunner returns a runner. The caller must call Close.
func NewRunner(o Options) *Runner {
	r := &Runner{limits: o.Limits.withDefaults(), starter: child.NewStarter(o.ScratchRoot), earlyExit: 100 * time.Millisecond}
	r.standby = newStore(o.Standby, func(c Command) (childProcess, error) {
		return r.starter.Start(c.Child())
	})
	return r
}

// Limits returns the output limits of each process.
func (r *Runner) Limits() Limits { return r.limits }

// Starter returns the starter of the processes. Worker processes, which answer many calls, are started with it, too.
func (r *Runner) Starter() *child.Starter { return r.starter }

// Close ends standby processes and removes the scratch directories. No call may be running.
func (r *Runner) Close() {
	r.standby.close()
	r.starter.Close()
}

// Reap collects orphaned descendants of functions until ctx ends. At most one Reap may run in a process. It ignores children that other
// code has started, as long as they stay in this process's session. It returns an error if the system does not support it.
func (r *Runner) Reap(ctx context.Context) error { return r.starter.Reap(ctx) }

// Prepare starts a standby process for the next call of the command, if the settings allow it. It does not wait for the start. If the
// start fails, the next call reports the error.
func (r *Runner) Prepare(c Command) { r.standby.prepare(c) }

// StandbyOutcomes returns the number of standby processes that ended, by outcome.
func (r *Runner) StandbyOutcomes() map[StandbyOutcome]int64 { return r.standby.counts() }

// Standby returns the current and the maximum number of standby processes.
func (r *Runner) Standby() (processes, most int) { return r.standby.size() }

// Run passes stdin to a process and waits until it exits. It uses a standby process if one is ready and its executable has not changed.
// When Run returns, the process group is dead and the pipes are closed.
//
// A process that exits is not an error, whatever its exit code. Errors are *StartError, *OutputTooLargeError, and *KilledError if ctx
// ended first. Except after *StartError, the outcome is complete.
func (r *Runner) Run(ctx context.Context, c Command, stdin []byte) (Outcome, error) {
	if ctx.Err() != nil {
		return Outcome{ExitCode: -1}, &KilledError{Cause: context.Cause(ctx)}
	}
	if len(c.Argv) == 0 {
		return Outcome{ExitCode: -1}, &StartError{Err: errors.New("the command is empty")}
	}
	limits := r.limits
	if c.MaxStdout > 0 {
		limits.Stdout = c.MaxStdout
	}
	begin := time.Now()
	if p := r.standby.take(c); p != nil {
		r.standby.begin(c)
		outcome, missed, err := r.answer(ctx, p.(*child.Child), stdin, limits, begin, true)
		r.standby.done(c)
		if !missed {
			return outcome, err
		}
		r.standby.markUnsupported(c, "it ended when it got its input")
	}
	p, err := r.starter.Start(c.Child())
	if err != nil {
		return Outcome{ExitCode: -1}, &StartError{Program: c.Argv[0], Err: err}
	}
	r.standby.begin(c)
	defer r.standby.done(c)
	outcome, _, err := r.answer(ctx, p, stdin, limits, begin, false)
	return outcome, err
}

// answer passes the input to a process and waits until it exits. standby reports whether the process is a standby process, which may
// already have been exiting. missed reports that such a process exited without reading its input, so that the caller can run the call again in a
// new process. This is the case if it failed and had closed its standard input, or if it exited within r.earlyExit, wrote nothing, and read
// nothing. A process that has read input may have had side effects, and must not run twice.
func (r *Runner) answer(
	ctx context.Context, p *child.Child, stdin []byte, limits Limits, begin time.Time, standby bool,
) (out Outcome, missed bool, err error) {
	defer p.Close()
	started := time.Now()
	p.Enlarge(len(stdin))
	input := child.Feed(p.Stdin, stdin, standby)
	out, err = supervise(ctx, p, input.Rest, len(stdin), limits)
	untouched := input.Untouched()
	out.Start, out.Execute = started.Sub(begin), time.Since(started)
	silent := len(out.Stdout) == 0 && len(out.Stderr) == 0 && out.Execute < r.earlyExit
	return out, err == nil && (input.Refused && out.ExitCode != 0 || silent && untouched), err
}

// supervise writes the rest of the input with feed, reads the pipes until the process has exited, and kills its descendants. input is
// the total size of the input in bytes.
func supervise(ctx context.Context, p *child.Child, feed func(), input int, limits Limits) (Outcome, error) {
	stdout := &child.Head{Limit: limits.Stdout, OnFlood: p.Kill}
	// Most functions write as much as they read.
	stdout.Preallocate(input)
	stderr := &child.Tail{Limit: int(limits.Stderr)}
	var pipes sync.WaitGroup
	if feed != nil {
		pipes.Go(feed)
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
