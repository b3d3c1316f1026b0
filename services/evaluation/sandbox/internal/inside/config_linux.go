// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package inside is the first process of a sandbox: it makes the sandbox around itself and then becomes the function. Programs
// that import it act as that process where they are started as one, before anything else of them is initialised. It imports
// little, so that the runtime initialises it early: what a large program initialises takes longer than making a sandbox.
package inside

// Name is the argument after the program's name that makes a program the first process of a sandbox. The next one is a Config as
// JSON.
const Name = "krm-function-sandbox"

// Exit codes of a first process that could not become the function, as those of container engines.
const (
	// ExitRefused means that the kernel refused a part of the sandbox. Standard error has one line: Refused, the part and why.
	ExitRefused = 125
	// ExitNotExecutable means that the function's program cannot be executed.
	ExitNotExecutable = 126
	// ExitNotFound means that the function's program is not there.
	ExitNotFound = 127
)

// Refused begins the line that says which part of the sandbox the kernel refused.
const Refused = "sandbox refused: "

// Config is a sandbox and the function in it.
type Config struct {
	// Root is the directory that becomes the root, Dir the working directory in it.
	Root, Dir string
	// Argv and Env are those of the function. Argv[0] is looked up in the PATH of Env where it has no slash.
	Argv, Env []string
	// UID and GID are what the function runs as, as it sees them itself.
	UID, GID int
	// DropGroups says that the process has groups to lose, and may.
	DropGroups bool
	// Tmp is how many bytes /tmp has.
	Tmp int64
	// Limits are resource limits by their numbers.
	Limits map[int]uint64
	// Filters are loaded one after the other, each the bytes of an array of struct sock_filter. A system call passes that all of
	// them let pass.
	Filters [][]byte
	// Check has the process exit with 0 where it would become the function.
	Check bool
}
