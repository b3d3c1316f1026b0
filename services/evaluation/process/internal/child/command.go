// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package child

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Command is the program to start, and the bounds of its process: those of process.Command.
type Command struct {
	Argv, Env            []string
	Dir                  string
	MemoryLimit, MaxData int64
	System               func(*syscall.SysProcAttr)
}

// mappedUnused is for what runtimes map and do not use: 60 MiB in Go, 10 MiB in Node.js, up to 500 MiB in Java, which does not
// start below.
const mappedUnused = 128 << 20

// dataLimit returns the most bytes of private memory that each process can map, RLIMIT_DATA; 0 means no limit. RLIMIT_AS counts
// address space, of which these runtimes reserve far more than they use.
func (c *Command) dataLimit() int64 {
	if c.MaxData > 0 || c.MemoryLimit <= 0 {
		return c.MaxData
	}
	return 2*c.MemoryLimit + mappedUnused
}

// environment returns the environment of a process: TMPDIR, and what its command's has no value for.
func (c *Command) environment(scratch string) []string {
	full := append(make([]string, 0, len(c.Env)+3), c.Env...)
	has := func(key string) bool {
		return slices.ContainsFunc(c.Env, func(kv string) bool { return strings.HasPrefix(kv, key+"=") })
	}
	if !has("HOME") {
		full = append(full, "HOME="+scratch)
	}
	if c.MemoryLimit > 0 && !has("GOMEMLIMIT") {
		full = append(full, "GOMEMLIMIT="+strconv.FormatInt(c.MemoryLimit, 10))
	}
	return append(full, "TMPDIR="+scratch)
}

// File is what a command's program is at some time.
type File struct {
	path string
	// identity is empty where there is nothing at the path.
	identity string
}

// fileAt returns what is at a path now, under the name that a process starts it by.
func fileAt(path, name string) File {
	var s unix.Stat_t
	if unix.Stat(path, &s) != nil {
		return File{path: name}
	}
	// Whoever sets the times of a file cannot set the last of them.
	return File{path: name, identity: fmt.Sprint(path, "\x00", s.Dev, s.Ino, s.Size, s.Mtim, s.Ctim)}
}

// Identity tells the file from every other, and from itself before a change. It is empty for a program that is not there.
func (f File) Identity() string { return f.identity }

// Is tells whether nobody has changed or replaced the program in between. A program that is not there is none.
func (f File) Is(other File) bool { return f.identity != "" && f.identity == other.identity }

// Program finds the program in the PATH of the command's environment, which need not be our own.
func (c *Command) Program() (File, error) {
	if name := c.Argv[0]; strings.Contains(name, "/") {
		at := name
		if !filepath.IsAbs(at) {
			at = filepath.Join(c.Dir, at)
		}
		return fileAt(at, name), nil
	}
	for _, kv := range c.Env {
		path, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(path) {
			path := filepath.Join(dir, c.Argv[0])
			if info, err := os.Stat(path); err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
				return fileAt(path, path), nil
			}
		}
	}
	return File{}, &exec.Error{Name: c.Argv[0], Err: exec.ErrNotFound}
}
