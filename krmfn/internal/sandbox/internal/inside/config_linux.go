// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package inside implements the first process of a sandbox: it sets up the sandbox around itself and then executes the function. A
// program that imports this package acts as that process if it is started as one, before other packages are initialised. The package
// imports little, so that the runtime initialises it early: the initialisation of a large program takes longer than setting up a
// sandbox.
package inside

// Name is the argument that makes a program the first process of a sandbox. The next argument is a Config in JSON.
const Name = "krm-function-sandbox"

// Exit codes if the function could not be executed. Container engines use the same codes.
const (
	// ExitRefused means that the kernel refused a part of the sandbox. Standard error contains one line: Refused, the part, and the
	// cause.
	ExitRefused = 125
	// ExitNotExecutable means that the function's program cannot be executed.
	ExitNotExecutable = 126
	// ExitNotFound means that the function's program does not exist.
	ExitNotFound = 127
)

// Refused is the prefix of the line that says which part of the sandbox the kernel refused.
const Refused = "sandbox refused: "

// Config describes a sandbox and its function.
type Config struct {
	// Root is the directory that becomes the root. Dir is the working directory inside it.
	Root, Dir string
	// Argv and Env are the function's arguments and environment. If Argv[0] contains no slash, it is looked up in the PATH of Env.
	Argv, Env []string
	// UID and GID are the function's user and group IDs inside the sandbox.
	UID, GID int
	// DropGroups removes all supplementary groups. It requires that the user namespace permits setgroups.
	DropGroups bool
	// Tmp is the size of /tmp in bytes.
	Tmp int64
	// Limits are resource limits, by resource number.
	Limits map[int]uint64
	// Filters are seccomp filters, each an array of struct sock_filter as bytes. A system call is allowed if all filters allow it.
	Filters [][]byte
	// Check makes the process exit with code 0 instead of executing the function.
	Check bool
}
