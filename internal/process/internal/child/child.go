// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package child starts processes that leave no descendants, pipes or files behind. Each process has its own session, process group,
// pipes and empty directory. A ledger of all started processes distinguishes them from orphans.
package child

import (
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// drainGrace is the time for which a pipe is read after the process has exited, if a descendant holds the pipe open. By then the pipe
// contains all output of the process itself. Only a descendant that left the process group can still hold it.
const drainGrace = 100 * time.Millisecond

// Starter starts processes. It is safe for concurrent use.
type Starter struct {
	scratch *scratch
	ledger  *ledger
}

// NewStarter returns a starter. Each process gets an empty directory below scratchRoot. An empty scratchRoot means the system's
// directory for temporary files.
func NewStarter(scratchRoot string) *Starter {
	return &Starter{scratch: newScratch(scratchRoot), ledger: runs}
}

// Close removes the scratch directories that are kept for reuse. No process may be running.
func (s *Starter) Close() { s.scratch.close() }

// Child is a started process with the parent's ends of its pipes. The caller that started it must call either Wait and then Close, or
// End.
type Child struct {
	// Stdin, Stdout and Stderr are pipes that support deadlines. Wait sets deadlines, and Close closes the pipes.
	Stdin, Stdout, Stderr *os.File

	starter *Starter
	dir     *directory
	program File
	run     uint64
	cmd     *exec.Cmd
	group   processGroup
	exit    exit
}

// Start starts a process. Its memory limit is in effect when Start returns, but not yet when the process executes its first
// instructions. Write input only after Start has returned.
func (s *Starter) Start(c Command) (*Child, error) {
	program, err := c.Program()
	if err != nil {
		return nil, err
	}
	dir, err := s.scratch.take()
	if err != nil {
		return nil, err
	}
	p := &Child{starter: s, dir: dir, program: program, cmd: &exec.Cmd{
		Path: program.path,
		Args: c.Argv,
		Env:  c.environment(dir.path),
		Dir:  c.Dir,
		// A new session includes a new process group. The sweeper recognises functions' processes by their session.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}}
	if c.System != nil {
		c.System(p.cmd.SysProcAttr)
	}
	if err := p.start(c.dataLimit()); err != nil {
		s.scratch.give(dir)
		return nil, err
	}
	return p, nil
}

func (p *Child) start(dataLimit int64) error {
	theirs, err := p.pipes()
	if err != nil {
		return err
	}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirs[0], theirs[1], theirs[2]
	p.run, err = p.starter.ledger.start(p.cmd)
	if err == nil && dataLimit > 0 {
		limitData(p.cmd.Process.Pid, dataLimit)
	}
	closeAll(theirs[:]...)
	if err != nil {
		closeAll(p.Stdin, p.Stdout, p.Stderr)
		return err
	}
	p.group.leader = p.cmd.Process.Pid
	p.exit = newExit(p.group.leader)
	return nil
}

// PID returns the process ID. After Wait, another process may have the same ID.
func (p *Child) PID() int { return p.group.leader }

// Pristine reports whether the process's scratch directory is still empty and has its original permissions.
func (p *Child) Pristine() bool { return p.dir.pristine() }

// Expendable sets the function that ends the process while it is idle. Nil means that the process is busy and must not be ended. The
// sweeper calls end from its own goroutine if the idle process delays the collection of orphans. end must not wait for the process.
func (p *Child) Expendable(end func()) { p.starter.ledger.expendable(p.run, end) }

// Kill kills the process group. It is safe for concurrent use, and may be called at any time.
func (p *Child) Kill() { p.group.kill() }

// Exited reports whether the process has exited. It does not block. It must not be called after Wait has begun.
func (p *Child) Exited() bool { return exited(p.group.leader) }

// WhyNotIdle returns "" if the process is idle: it has neither exited, nor written output, nor closed a stream. Otherwise it returns the
// reason why the process is not idle. It does not block. It must not be called after Wait has begun.
func (p *Child) WhyNotIdle() (why string) {
	if p.Exited() {
		return "it ended before it got input"
	}
	var ends [3]unix.PollFd
	for i, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr} {
		withFD(f, func(fd uintptr) { ends[i].Fd = int32(fd) }) //nolint:gosec // numbers of files are small
	}
	ends[1].Events, ends[2].Events = unix.POLLIN, unix.POLLIN
	for {
		n, err := unix.Poll(ends[:], 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err.Error()
		case n == 0:
			return ""
		case ends[0].Revents != 0:
			return "it closed standard input before it got input"
		default:
			return "it wrote or closed its output before it got input"
		}
	}
}

// Outdated reports whether the command's executable has changed since the process was started.
func (p *Child) Outdated(c Command) bool {
	now, err := c.Program()
	return err != nil || !now.Is(p.program)
}

// Wait waits until the process exits, then kills the rest of its process group. It returns the error of exec.Cmd.Wait. Afterwards
// writes to Stdin fail. Reads from Stdout and Stderr end after the last output of the process, or 100 ms after its exit if a descendant
// holds the pipes open. Wait must be called once.
func (p *Child) Wait() (*os.ProcessState, error) {
	p.exit.wait()
	// The process group ID cannot be reused before the leader is reaped. Killing the group first also closes the last write ends of the
	// pipes.
	p.group.retire()
	err := p.cmd.Wait()
	p.starter.ledger.end(p.run)
	now := time.Now()
	_ = p.Stdin.SetWriteDeadline(now)
	_ = p.Stdout.SetReadDeadline(now.Add(drainGrace))
	_ = p.Stderr.SetReadDeadline(now.Add(drainGrace))
	return p.cmd.ProcessState, err
}

// Close closes the pipes and releases the directory. Wait must have returned, and no goroutine may use the pipes.
func (p *Child) Close() {
	closeAll(p.Stdin, p.Stdout, p.Stderr)
	p.starter.scratch.give(p.dir)
}

// End kills the process, waits for it, and closes the Child. It replaces Wait and Close.
func (p *Child) End() {
	p.Kill()
	_, _ = p.Wait()
	p.Close()
}

// processGroup kills a process and all descendants that are still in its group. After the leader is reaped, its ID may belong to
// another process. retire must be called before that, and disables kill.
type processGroup struct {
	leader  int
	mu      sync.Mutex
	retired bool
}

// kill kills the group. It is safe for concurrent use, and may be called at any time.
func (g *processGroup) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.retired {
		_ = syscall.Kill(-g.leader, syscall.SIGKILL)
	}
}

// retire kills the rest of the group and disables later calls of kill. The leader must have exited and must not be reaped yet.
func (g *processGroup) retire() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.retired = true
}
