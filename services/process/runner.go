// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// drainGrace is how long a pipe that a descendant of a finished process still holds open is read on. All that the
// process itself wrote is in the pipe by then; only a descendant that left the process group can be the holder.
const drainGrace = 100 * time.Millisecond

// Runner runs processes. It may be used by any number of goroutines at once.
type Runner struct {
	limits  Limits
	scratch string

	// starting is held for reading from before a process exists until it is in leaders, so that the reaper, which takes
	// it for writing, never mistakes a process of ours for an orphan.
	starting sync.RWMutex
	mu       sync.Mutex
	leaders  map[int]struct{}
}

// NewRunner returns a runner. Each process gets an empty directory of its own below scratch; an empty scratch means the
// system's directory for temporary files.
func NewRunner(limits Limits, scratch string) *Runner {
	return &Runner{limits: limits.withDefaults(), scratch: scratch, leaders: map[int]struct{}{}}
}

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
	dir, err := makeScratch(r.scratch)
	if err != nil {
		return Outcome{ExitCode: -1}, &StartError{Program: c.Argv[0], Err: err}
	}
	defer removeScratch(dir)

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
	p := &started{cmd: &exec.Cmd{
		Path:        path,
		Args:        c.Argv,
		Env:         environment(c.Env, dir),
		Dir:         c.Dir,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}}
	if err := p.pipes(); err != nil {
		return nil, err
	}
	r.starting.RLock()
	defer r.starting.RUnlock()
	err = p.cmd.Start()
	closeAll(p.theirs...)
	if err != nil {
		closeAll(p.stdin, p.stdout, p.stderr)
		return nil, err
	}
	p.group.leader = p.cmd.Process.Pid
	r.mu.Lock()
	r.leaders[p.group.leader] = struct{}{}
	r.mu.Unlock()
	return p, nil
}

// supervise feeds and drains the pipes until the process has ended, and leaves nothing of it behind.
func (r *Runner) supervise(ctx context.Context, p *started, stdin []byte, limits Limits) (Outcome, error) {
	// Most functions write about what they read.
	guess := make([]byte, 0, min(int64(len(stdin))+4096, limits.Stdout))
	stdout := &head{limit: limits.Stdout, onFlood: p.group.kill, buf: guess}
	stderr := &tail{limit: int(limits.Stderr)}
	var pipes sync.WaitGroup
	pipes.Go(func() { feed(p.stdin, stdin) })
	pipes.Go(func() { drain(p.stdout, 32<<10, stdout) })
	pipes.Go(func() { drain(p.stderr, 4<<10, stderr) })
	stop := context.AfterFunc(ctx, p.group.kill)

	waitUnreaped(p.group.leader)
	stop()
	// While the leader is unreaped its process group cannot be another's. Whatever is left in the group dies here, and
	// with it the last writers of our pipes.
	p.group.retire()
	err := p.cmd.Wait()
	r.mu.Lock()
	delete(r.leaders, p.group.leader)
	r.mu.Unlock()
	deadline := time.Now().Add(drainGrace)
	_ = p.stdin.SetWriteDeadline(time.Now())
	_ = p.stdout.SetReadDeadline(deadline)
	_ = p.stderr.SetReadDeadline(deadline)
	pipes.Wait()
	closeAll(p.stdout, p.stderr)

	out := Outcome{Stderr: stderr.bytes(), StderrDropped: stderr.dropped, ExitCode: p.cmd.ProcessState.ExitCode()}
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		out.Signal = ws.Signal()
	}
	switch {
	case stdout.full():
		return out, &OutputTooLargeError{Size: stdout.size, Limit: limits.Stdout}
	case ctx.Err() != nil && out.Signal == syscall.SIGKILL:
		out.Stdout = stdout.buf
		return out, &KilledError{Cause: context.Cause(ctx)}
	case err != nil && !errors.As(err, new(*exec.ExitError)):
		return out, &KilledError{Cause: err}
	}
	out.Stdout = stdout.buf
	return out, nil
}

// waitUnreaped blocks until the process has ended and leaves it a zombie, so that its number stays taken.
func waitUnreaped(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
