// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"slices"
	"time"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/internal/child"
)

// support says whether a command supports the worker protocol.
type support int

const (
	// supportUnknown means that no worker of the command has greeted yet.
	supportUnknown support = iota
	// supported means that a worker of the command has greeted.
	supported
	// unsupported means that the command does not support the protocol.
	unsupported
)

// group holds the workers of one command. Pool.mu guards it.
type group struct {
	// command is what workers are started with. program is the version of its executable.
	command process.Command
	program child.File
	support support
	// failures counts consecutive workers that ended without answering a call.
	failures int
	// members are all workers. idle are those that wait for a call, the most recently used last.
	members, idle []*member
	// waiting are the channels of calls that wait for a worker, in FIFO order. Each receives one value: a worker, or nil if the call
	// must stop waiting.
	waiting []chan *member
}

// member is a worker of a group.
type member struct {
	// handle is set once when the worker has been started.
	handle
	group   *group
	command process.Command

	// Pool.mu guards the following fields.

	// busy means that the worker answers a call, or has not greeted yet.
	busy bool
	// leaving means that the worker gets no more calls. evicted means that the pool ended it while it was idle, so that it is not
	// replaced.
	leaving, evicted bool
	// exited means that the worker has exited and has been cleaned up.
	exited bool
	calls  int
	// since is the time when it became idle.
	since time.Time
}

// pop returns the most recently used idle worker, or nil. The less used ones stay idle and expire.
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

// offer hands a worker to the call that has waited longest. If no call waits, the worker becomes idle.
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

// releaseCallers makes all waiting calls stop waiting.
func (c *group) releaseCallers() {
	for _, waiter := range c.waiting {
		waiter <- nil
	}
	c.waiting = nil
}

// fits reports whether workers of the group may answer a call of the command. It changes the group, and reports that, if the executable
// has been replaced, or if the call has a lower memory limit than the group. A call with a higher limit does not fit and gets a
// process: the memory budget counts a worker only while it answers a call, so idle workers must be small.
func (c *group) fits(command *process.Command, program child.File) (fits, changed bool) {
	replaced := !program.Is(c.program)
	switch limit := command.MemoryLimit; {
	case !replaced && c.command.MemoryLimit == limit && c.command.MaxData == command.MaxData:
		return true, false
	case !replaced && (limit == 0 || c.command.MemoryLimit > 0 && limit >= c.command.MemoryLimit):
		return false, false
	}
	if replaced {
		c.support, c.failures = supportUnknown, 0
	}
	c.command, c.program = *command, program
	return true, true
}
