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
)

// drainGrace is how long a pipe that a descendant of a finished process still holds open is read on. All that the
// process itself wrote is in the pipe by then; only a descendant that left the process group can be the holder.
const drainGrace = 100 * time.Millisecond

// Runner runs processes. It may be used by any number of goroutines at once.
type Runner struct {
	limits  Limits
	scratch *scratch
	ledger  *ledger
}

// NewRunner returns a runner. Each process gets an empty directory of its own below scratchRoot; an empty scratchRoot
// means the system's directory for temporary files.
func NewRunner(limits Limits, scratchRoot string) *Runner {
	return &Runner{limits: limits.withDefaults(), scratch: newScratch(scratchRoot), ledger: runs}
}

// Close removes the directories that are kept for the next processes. No process may be running.
func (r *Runner) Close() { r.scratch.close() }

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
	dir, err := r.scratch.take()
	if err != nil {
		return Outcome{ExitCode: -1}, &StartError{Program: c.Argv[0], Err: err}
	}
	defer r.scratch.give(dir)

	p, err := r.start(c, dir)
	if err != nil {
		return Outcome{ExitCode: -1}, &StartError{Program: c.Argv[0], Err: err}
	}
	started := time.Now()
	limits := r.limits
	if c.MaxStdout > 0 {
		limits.Stdout = c.MaxStdout
	}
	outcome, err := r.supervise(ctx, p, stdin, limits)
	outcome.Start, outcome.Execute = started.Sub(begin), time.Since(started)
	return outcome, err
}

// started is a running process and our ends of its pipes.
type started struct {
	run                   uint64
	cmd                   *exec.Cmd
	stdin, stdout, stderr *os.File
	theirs                []*os.File
	group                 processGroup
}

func (r *Runner) start(c Command, dir string) (*started, error) {
	path, err := lookPath(c.Argv[0], c.Env)
	if err != nil {
		return nil, err
	}
	p := new(started)
	p.cmd = &exec.Cmd{
		Path: path,
		Args: c.Argv,
		Env:  c.environment(dir),
		Dir:  c.Dir,
		// A session, which a process group comes with, tells the sweeps what is a function's.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	if err := p.pipes(); err != nil {
		return nil, err
	}
	p.run, err = r.ledger.start(p.cmd)
	closeAll(p.theirs...)
	if err != nil {
		closeAll(p.stdin, p.stdout, p.stderr)
		return nil, err
	}
	p.group.leader = p.cmd.Process.Pid
	if limit := c.dataLimit(); limit > 0 {
		limitData(p.group.leader, limit)
	}
	return p, nil
}

// supervise feeds and drains the pipes until the process has ended, and leaves nothing of it behind.
func (r *Runner) supervise(ctx context.Context, p *started, stdin []byte, limits Limits) (Outcome, error) {
	// Most functions write about what they read.
	guess := make([]byte, 0, min(int64(len(stdin)), limits.Stdout)+2*leastSpace)
	stdout := &head{limit: limits.Stdout, onFlood: p.group.kill, buf: guess}
	stderr := &tail{limit: int(limits.Stderr)}
	var pipes sync.WaitGroup
	pipes.Go(func() { feed(p.stdin, stdin) })
	pipes.Go(func() { drain(p.stdout, stdout) })
	pipes.Go(func() { drain(p.stderr, stderr) })
	stop := context.AfterFunc(ctx, p.group.kill)

	waitUnreaped(p.group.leader)
	stop()
	// While the leader is unreaped its process group cannot be another's. Whatever is left in the group dies here, and
	// with it the last writers of our pipes.
	p.group.retire()
	err := p.cmd.Wait()
	r.ledger.end(p.run)
	deadline := time.Now().Add(drainGrace)
	_ = p.stdin.SetWriteDeadline(time.Now())
	_ = p.stdout.SetReadDeadline(deadline)
	_ = p.stderr.SetReadDeadline(deadline)
	pipes.Wait()
	closeAll(p.stdout, p.stderr)

	out := Outcome{Stderr: stderr.output(), ExitCode: p.cmd.ProcessState.ExitCode()}
	out.StderrDropped = stderr.dropped
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		out.Signal = ws.Signal()
	}
	switch {
	case stdout.full():
		return out, &OutputTooLargeError{Size: stdout.size, Limit: limits.Stdout}
	case ctx.Err() != nil && out.Signal == syscall.SIGKILL:
		out.Stdout = stdout.output()
		return out, &KilledError{Cause: context.Cause(ctx)}
	case err != nil && !errors.As(err, new(*exec.ExitError)):
		return out, &KilledError{Cause: err}
	}
	out.Stdout = stdout.output()
	return out, nil
}

// processGroup kills a process and all its descendants that did not leave its group. The leader's number may belong to
// somebody else as soon as the leader is reaped; retire comes before that, and nothing is killed after it.
type processGroup struct {
	leader  int
	mu      sync.Mutex
	retired bool
}

// kill ends the group at once. It may be called at any time, by any goroutine.
func (g *processGroup) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.retired {
		_ = syscall.Kill(-g.leader, syscall.SIGKILL)
	}
}

// retire kills what is left of the group and makes later kills do nothing. The leader has ended and is not yet reaped.
func (g *processGroup) retire() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retired = true
}

// YieldProcessors leaves half of the processors to the functions, which do the work. A server that spreads over all of them
// wakes a sleeping one for every step of a call: with two, that is four fifths of what a call takes beyond its function.
// GOMAXPROCS in the environment takes precedence. It is for main functions.
func YieldProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/2, 1))
	}
}
