// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"slices"
	"time"

	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/evaluation/process/internal/child"
)

// trust is what is known of a command.
type trust int

const (
	// unknown is a command of which no worker has greeted yet.
	unknown trust = iota
	// agreed is one of which workers have.
	agreed
	// refused is one that is no worker.
	refused
)

// group are the workers of one command. The pool's lock guards it.
type group struct {
	// command is what its workers are started with.
	command process.Command
	program child.File
	trust   trust
	// failures is how many workers in a row have ended without an answer.
	failures int
	// members are all of them, idle those that wait for a call, the one used last at the end.
	members, idle []*member
	// waiting are calls, the one that waits longest first. Each gets one value: nil that it should wait no more.
	waiting []chan *member
}

// member is a worker in its group.
type member struct {
	// handle is there once the worker has been started, and never changes then.
	handle
	group   *group
	command process.Command

	// What follows is guarded by the pool's lock.

	// busy is one that has a call, or has yet to greet.
	busy bool
	// leaving is one that gets no more calls, unneeded one that has not been ended for its calls.
	leaving, unneeded bool
	// left is one of which nothing is left.
	left  bool
	calls int
	// since is when it became idle.
	since time.Time
}

// pop returns the worker that was used last and can take a call, so that those of little use fall idle; nil for none.
func (c *group) pop() *member {
	last := len(c.idle) - 1
	if last < 0 {
		return nil
	}
	m := c.idle[last]
	c.idle = c.idle[:last]
	m.busy = true
	return m
}

// offer gives a worker to the call that waits longest, or has it wait for one.
func (c *group) offer(m *member) {
	if len(c.waiting) > 0 {
		m.busy = true
		c.waiting[0] <- m
		c.waiting = slices.Delete(c.waiting, 0, 1)
		return
	}
	m.since = time.Now()
	c.idle = append(c.idle, m)
}

// releaseCallers has nobody wait any longer.
func (c *group) releaseCallers() {
	for _, place := range c.waiting {
		place <- nil
	}
	c.waiting = nil
}

// fits tells whether a group may answer a call, and makes it one that may where the call is from a newer executable, or has less memory
// than those before it: a call with more gets a process of its own, as what workers hold counts only while they run.
func (c *group) fits(command *process.Command, program child.File) (fits, changed bool) {
	replaced := !program.Is(c.program)
	switch limit := command.MemoryLimit; {
	case !replaced && c.command.MemoryLimit == limit && c.command.MaxData == command.MaxData:
		return true, false
	case !replaced && (limit == 0 || c.command.MemoryLimit > 0 && limit >= c.command.MemoryLimit):
		return false, false
	}
	if replaced {
		c.trust, c.failures = unknown, 0
	}
	c.command, c.program = *command, program
	return true, true
}
