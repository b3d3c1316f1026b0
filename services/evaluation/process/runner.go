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

	"github.com/krmfn/krmfn/services/evaluation/process/internal/child"
)

// Options are what a Runner needs to know. Zero values mean the defaults.
type Options struct {
	// Limits bound each process.
	Limits Limits
	// ScratchRoot is where each process gets an empty directory of its own; empty means the system's directory for temporary files.
	ScratchRoot string
	// Standby says which processes are started ahead of their calls; by default none.
	Standby Standby
}

// Runner runs processes. It may be used by any number of goroutines at once.
type Runner struct {
	limits  Limits
	starter *child.Starter
	standby *store
	// atOnce is more than a process takes to end that has begun to.
	atOnce time.Duration
}

// NewRunner returns a runner. It must be closed.
func NewRunner(o Options) *Runner {
	r := &Runner{limits: o.Limits.withDefaults(), starter: child.NewStarter(o.ScratchRoot), atOnce: 100 * time.Millisecond}
	r.standby = newStore(o.Standby, func(c Command) (waiting, error) {
		return r.starter.Start(c.Child())
	})
	return r
}

// Limits returns what bounds each process.
func (r *Runner) Limits() Limits { return r.limits }

// Starter returns what starts the processes, for those whose processes answer many calls.
func (r *Runner) Starter() *child.Starter { return r.starter }

// Close ends the processes that wait for a call, and removes the directories that are kept for the next ones. Nothing may be running.
func (r *Runner) Close() {
	r.standby.close()
	r.starter.Close()
}

// Reap collects what functions leave behind until ctx ends. At most one Reap may run in a process. It leaves alone the children
// that others have started, as long as they stay in this process's session. The error says why it cannot.
func (r *Runner) Reap(ctx context.Context) error { return r.starter.Reap(ctx) }

// Prepare starts a process for the next call of the command, where the settings of standby processes let it. It does not wait for
// that: what is wrong with the command is told by its call.
func (r *Runner) Prepare(c Command) { r.standby.prepare(c) }

// Fates returns how many processes that were started ahead of their calls have come to which end.
func (r *Runner) Fates() map[Fate]int64 { return r.standby.counted() }

// Standby returns how many processes are started ahead of their calls now, and how many may be at once.
func (r *Runner) Standby() (processes, most int) { return r.standby.size() }

// Run gives stdin to a process on its standard input and waits for its end. Its process group, and the pipes, are gone when Run
// returns. The process has been started ahead, unless it shows that it is not what would be started now.
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
		r.standby.refuse(c, "it ended when it got its input")
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

// answer gives a process its input and waits for its end. One that has been waiting for it, a spare, may have been about to end: it has
// missed its input where it failed without being able to read any of it, or ended at once, said nothing and has read nothing. Whoever
// has read its input may have done something, and must not run twice.
func (r *Runner) answer(
	ctx context.Context, p *child.Child, stdin []byte, limits Limits, begin time.Time, spare bool,
) (out Outcome, missed bool, err error) {
	defer p.Close()
	started := time.Now()
	p.Enlarge(len(stdin))
	input := child.Feed(p.Stdin, stdin, spare)
	out, err = supervise(ctx, p, input.Rest, len(stdin), limits)
	untouched := input.Untouched()
	out.Start, out.Execute = started.Sub(begin), time.Since(started)
	silent := len(out.Stdout) == 0 && len(out.Stderr) == 0 && out.Execute < r.atOnce
	return out, err == nil && (input.Refused && out.ExitCode != 0 || silent && untouched), err
}

// supervise feeds what is left of so many bytes of input, drains the pipes until the process has ended, and leaves nothing of it behind.
func supervise(ctx context.Context, p *child.Child, feed func(), input int, limits Limits) (Outcome, error) {
	stdout := &child.Head{Limit: limits.Stdout, OnFlood: p.Kill}
	// Most functions write about what they read.
	stdout.Guess(input)
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
