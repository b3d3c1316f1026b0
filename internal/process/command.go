// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package process runs a function as an operating system process: the input goes to its standard input, the output comes from its
// standard output. Time, memory and output are bounded, and no process, pipe or file remains after a call. The exec evaluator and the
// wrapper server share this package.
package process

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/internal/process/internal/child"
)

// Command is the program to run. It is started directly, without a shell.
type Command struct {
	// Argv is the program and its arguments. If Argv[0] contains no slash, the program is looked up in the PATH of Env.
	Argv []string
	// Env is the environment as "KEY=value" strings. The runner adds TMPDIR, and HOME if Env has none. Both name an empty directory
	// that only this call uses.
	Env []string
	// Dir is the working directory. Empty means the directory of the calling process.
	Dir string
	// MaxStdout is the maximum size of standard output, in bytes. 0 means the runner's limit.
	MaxStdout int64
	// MemoryLimit is the amount of memory, in bytes, that the process should stay below. 0 means no limit. The runner passes it as
	// GOMEMLIMIT unless Env sets that variable; the Go runtime collects garbage more often as the heap approaches it.
	MemoryLimit int64
	// MaxData limits the private memory, in bytes, that each process of the command can map on Linux (RLIMIT_DATA). 0 means twice
	// MemoryLimit plus 128 MiB. Allocations beyond the limit fail; a Go program then exits with code 2 and prints "runtime: out of
	// memory". The limit is set after the process starts and before it gets its input.
	MaxData int64
	// NoStandby disables standby processes for the command: its process starts when the call comes.
	NoStandby bool
	// Worker asks the process to answer many calls as a worker, if it supports that.
	Worker bool
	// System, unless nil, modifies the attributes that the process is started with, such as namespaces and user IDs. It is called for
	// each process. Commands with equal arguments and environments must have equal System functions, because Key does not compare them.
	System func(*syscall.SysProcAttr)
}

// Child returns the command in the form that child.Starter takes.
func (c *Command) Child() child.Command {
	return child.Command{Argv: c.Argv, Env: c.Env, Dir: c.Dir, MemoryLimit: c.MemoryLimit, MaxData: c.MaxData, System: c.System}
}

// Key identifies the program, its arguments, environment and directory. Processes of commands with different keys are not
// interchangeable. Key does not include limits.
func (c *Command) Key() string {
	var b strings.Builder
	for _, part := range [][]string{c.Argv, c.Env, {c.Dir}} {
		b.WriteString(strconv.Itoa(len(part)))
		for _, s := range part {
			b.WriteByte(0)
			b.WriteString(s)
		}
	}
	return b.String()
}

// Program returns the identity of the executable that the command would start. It is the zero File if the executable is not found.
func (c *Command) Program() child.File {
	command := c.Child()
	program, _ := command.Program()
	return program
}

// Outcome is the result of a process. If the process was started, all fields are set, however the process ended.
type Outcome struct {
	// Stdout is the complete standard output. It is nil if the output exceeded the limit.
	Stdout []byte
	// Stderr is the last part of standard error, at most Limits.Stderr bytes.
	Stderr []byte
	// StderrDropped is the number of bytes of standard error that preceded Stderr and were dropped.
	StderrDropped int64
	// ExitCode is 0 to 255, or -1 if a signal ended the process.
	ExitCode int
	// Signal is the signal that ended the process, or 0.
	Signal syscall.Signal
	// Start is the time it took to start the process, and Execute the time from then until it exited.
	Start, Execute time.Duration
}

// Limits bound the memory that the output of one process occupies in its runner. Zero values mean the defaults.
type Limits struct {
	// Stdout is the maximum size of standard output in bytes. The default is 6 MiB, Porch's message size limit.
	Stdout int64
	// Stderr is the maximum number of bytes of standard error that are kept. Earlier bytes are dropped and counted. The default is 64
	// KiB.
	Stderr int64
}

const (
	defaultStdout = 6 << 20
	defaultStderr = 64 << 10
)

func (l Limits) withDefaults() Limits {
	if l.Stdout <= 0 {
		l.Stdout = defaultStdout
	}
	if l.Stderr <= 0 {
		l.Stderr = defaultStderr
	}
	return l
}

// StartError reports that a process could not be started. None of the program's code has run.
type StartError struct {
	// Program is Argv[0].
	Program string
	// Err is the cause.
	Err error
}

func (e *StartError) Error() string { return fmt.Sprintf("start %q: %v", e.Program, e.Err) }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

// OutputTooLargeError reports that a process wrote more to standard output than the limit.
type OutputTooLargeError struct {
	// Size is the number of bytes that the process wrote. The runner kills a process that writes more than 16 times the limit.
	Size int64
	// Limit is the maximum output size in bytes.
	Limit int64
}

func (e *OutputTooLargeError) Error() string {
	return fmt.Sprintf("output of %d bytes is larger than the limit of %d bytes", e.Size, e.Limit)
}

// KilledError reports that the runner killed a process because its context ended.
type KilledError struct {
	// Cause is the context's cause.
	Cause error
}

func (e *KilledError) Error() string { return fmt.Sprintf("killed: %v", e.Cause) }

// Unwrap returns the context's cause.
func (e *KilledError) Unwrap() error { return e.Cause }
