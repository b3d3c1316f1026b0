// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package child starts operating system processes of which nothing is left: each has a process group, three pipes and an empty
// directory of its own, and an entry in the ledger that tells leaders from orphans.
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

// drainGrace is how long a pipe that a descendant of a finished process still holds open is read on. All that the
// process itself wrote is in the pipe by then; only a descendant that left the process group can be the holder.
const drainGrace = 100 * time.Millisecond

// Starter starts processes. It may be used by any number of goroutines at once.
type Starter struct {
	scratch *scratch
	ledger  *ledger
}

// NewStarter returns a starter. Each process gets an empty directory of its own below scratchRoot; an empty scratchRoot means the
// system's directory for temporary files.
func NewStarter(scratchRoot string) *Starter {
	return &Starter{scratch: newScratch(scratchRoot), ledger: runs}
}

// Close removes the directories that are kept for the next processes. No process may be running.
func (s *Starter) Close() { s.scratch.close() }

// Child is a process that has been started, and our ends of its pipes. Whoever has started it calls Wait and then Close, or End.
type Child struct {
	// Stdin, Stdout and Stderr are pipes that know deadlines. Wait sets some; Close closes them all.
	Stdin, Stdout, Stderr *os.File

	starter *Starter
	dir     *directory
	program File
	run     uint64
	cmd     *exec.Cmd
	group   processGroup
	exit    exit
}

// Start starts a process. It is bound by its limits when Start returns, and not yet when its first instruction runs: only then it
// gets its input.
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
		// A session, which a process group comes with, tells the sweeps what is a function's.
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

// PID returns the number of the process. It is another's after Wait.
func (p *Child) PID() int { return p.group.leader }

// Pristine tells whether the directory of the process is empty, as it was made.
func (p *Child) Pristine() bool { return p.dir.pristine() }

// Expendable says what ends the process without harm while it waits for work, nil that nothing does: that it works. A sweep calls
// end, in a goroutine of the sweep's own, when it would hold orphans back for this process. end must not wait for the process.
func (p *Child) Expendable(end func()) { p.starter.ledger.expendable(p.run, end) }

// Kill ends the process and its group at once. It may be called at any time, by any goroutine.
func (p *Child) Kill() { p.group.kill() }

// Exited tells whether the process has ended, without waiting. It must not be called after Wait has begun.
func (p *Child) Exited() bool { return exited(p.group.leader) }

// Waits returns "" if the process has done nothing yet that can be seen but wait for its input, and why it is not so otherwise. It
// does not block. It must not be called after Wait has begun.
func (p *Child) Waits() (why string) {
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

// Outdated tells whether the program of the process's command is another than when the process started.
func (p *Child) Outdated(c Command) bool {
	now, err := c.Program()
	return err != nil || !now.Is(p.program)
}

// Wait waits until the process ends, and kills what is left of its group then. The error is that of exec.Cmd.Wait. After it,
// writes to Stdin fail, and reads from Stdout and Stderr end when they have given all that the process has written, at the latest
// 100 ms later. It is for one goroutine, and for once.
func (p *Child) Wait() (*os.ProcessState, error) {
	p.exit.wait()
	// While the leader is unreaped its process group cannot be another's. Whatever is left in the group dies here, and
	// with it the last writers of our pipes.
	p.group.retire()
	err := p.cmd.Wait()
	p.starter.ledger.end(p.run)
	now := time.Now()
	_ = p.Stdin.SetWriteDeadline(now)
	_ = p.Stdout.SetReadDeadline(now.Add(drainGrace))
	_ = p.Stderr.SetReadDeadline(now.Add(drainGrace))
	return p.cmd.ProcessState, err
}

// Close closes the pipes and gives back the directory. Wait has returned, and nobody uses the pipes any more.
func (p *Child) Close() {
	closeAll(p.Stdin, p.Stdout, p.Stderr)
	p.starter.scratch.give(p.dir)
}

// End kills the process and leaves nothing of it. It stands in place of Wait and Close.
func (p *Child) End() {
	p.Kill()
	_, _ = p.Wait()
	p.Close()
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
