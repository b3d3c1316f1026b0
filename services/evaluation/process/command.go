// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package process runs a function as an operating system process: input on stdin, output from stdout, everything bounded,
// nothing left behind. The exec evaluator and the wrapper server share it.
package process

import (
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/krmfn/krmfn/services/evaluation/process/internal/child"
)

// Command is the program to run. It is started directly, without a shell.
type Command struct {
	// Argv is the program and its arguments. Argv[0] is looked up in the PATH of Env where it has no slash.
	Argv []string
	// Env is the environment, "KEY=value" each. The runner adds TMPDIR, and HOME where Env has none, both an empty
	// directory of the call's own.
	Env []string
	// Dir is the working directory; empty means the caller's own.
	Dir string
	// MaxStdout is the most bytes of standard output; 0 means the runner's limit.
	MaxStdout int64
	// MemoryLimit is the share of the memory, in bytes, that the process should get along with; 0 means no limit. A program in Go
	// gets it as GOMEMLIMIT, unless Env has that, and collects its garbage often when it comes near it.
	MemoryLimit int64
	// MaxData is the most bytes of private memory that each process of the command can map on Linux; 0 means twice MemoryLimit and
	// 128 MiB. Beyond that the system refuses it memory. A program in Go ends with exit code 2 and "runtime: out of memory". The
	// processes are bound before the command gets its input, and not yet when they start.
	MaxData int64
	// NoStandby says that no process of the command may be started before its call comes.
	NoStandby bool
	// Worker says that a process of the command answers many calls if it is asked to.
	Worker bool
	// System, unless nil, amends how the system starts the process: namespaces, users. It is called for each process. Commands with
	// equal arguments and environment must have equal ones.
	System func(*syscall.SysProcAttr)
}

// Child returns the command as the start of a process takes it.
func (c *Command) Child() child.Command {
	return child.Command{Argv: c.Argv, Env: c.Env, Dir: c.Dir, MemoryLimit: c.MemoryLimit, MaxData: c.MaxData, System: c.System}
}

// Key tells commands apart that need processes of their own, limits aside.
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

// Program returns the file that a process of the command would be started from now; none that is there where it cannot be found.
func (c *Command) Program() child.File {
	command := c.Child()
	program, _ := command.Program()
	return program
}

// Outcome is what a process left behind. It is complete whenever the process was started, however it ended.
type Outcome struct {
	// Stdout is everything that was written to standard output. It is nil when the output was over the limit.
	Stdout []byte
	// Stderr is the end of what was written to standard error, at most Limits.Stderr bytes.
	Stderr []byte
	// StderrDropped counts the bytes of standard error before those in Stderr.
	StderrDropped int64
	// ExitCode is 0 to 255, or -1 when the process was ended by a signal.
	ExitCode int
	// Signal is the signal that ended the process, or 0.
	Signal syscall.Signal
	// Start is the time that it took to start the process, Execute the time from then to its end.
	Start, Execute time.Duration
}

// Limits bound what one process may make its runner hold. Zero values mean the defaults.
type Limits struct {
	// Stdout is the most bytes of standard output. Default 6 MiB, the message size that Porch allows.
	Stdout int64
	// Stderr is the most bytes of standard error that are kept; what comes before them is dropped and counted.
	// Default 64 KiB.
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

// StartError says that a process could not be started: nothing of it has run.
type StartError struct {
	// Program is Argv[0].
	Program string
	// Err is the reason.
	Err error
}

func (e *StartError) Error() string { return fmt.Sprintf("start %q: %v", e.Program, e.Err) }

// Unwrap returns the reason.
func (e *StartError) Unwrap() error { return e.Err }

// OutputTooLargeError says that a process wrote more to standard output than it may.
type OutputTooLargeError struct {
	// Size is how many bytes it wrote. A process that wrote 16 times the limit was killed there.
	Size int64
	// Limit is the most bytes allowed.
	Limit int64
}

func (e *OutputTooLargeError) Error() string {
	return fmt.Sprintf("output of %d bytes is larger than the limit of %d bytes", e.Size, e.Limit)
}

// KilledError says that a process was killed because its context ended.
type KilledError struct {
	// Cause is the cause of the context's end.
	Cause error
}

func (e *KilledError) Error() string { return fmt.Sprintf("killed: %v", e.Cause) }

// Unwrap returns the cause of the context's end.
func (e *KilledError) Unwrap() error { return e.Cause }
