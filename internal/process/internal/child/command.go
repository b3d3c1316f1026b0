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

// Command is the program to start, with its limits. process.Command documents the fields.
type Command struct {
	Argv, Env            []string
	Dir                  string
	MemoryLimit, MaxData int64
	System               func(*syscall.SysProcAttr)
}

// mappedUnused is memory, in bytes, that runtimes map without using it: 60 MiB in Go, 10 MiB in Node.js, and up to 500 MiB in Java,
// which does not start with less.
const mappedUnused = 128 << 20

// dataLimit returns the limit on private memory (RLIMIT_DATA), in bytes. 0 means no limit. RLIMIT_AS is not suitable because it limits
// address space, and these runtimes reserve much more address space than they use.
func (c *Command) dataLimit() int64 {
	if c.MaxData > 0 || c.MemoryLimit <= 0 {
		return c.MaxData
	}
	return 2*c.MemoryLimit + mappedUnused
}

// environment returns the environment of a process: the command's, TMPDIR, and HOME and GOMEMLIMIT if the command does not set them.
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

// File identifies an executable at a point in time.
type File struct {
	path string
	// identity is empty if no file exists at the path.
	identity string
}

// fileAt returns the identity of the file at path. name is the path that the process is started with.
func fileAt(path, name string) File {
	var s unix.Stat_t
	if unix.Stat(path, &s) != nil {
		return File{path: name}
	}
	// Ctim changes with every modification, and no process can set it.
	return File{path: name, identity: fmt.Sprint(path, "\x00", s.Dev, s.Ino, s.Size, s.Mtim, s.Ctim)}
}

// Identity returns a string that differs between files, and between versions of a file. It is empty if the file does not exist.
func (f File) Identity() string { return f.identity }

// Is reports whether both are the same unmodified file. It is false if the file does not exist.
func (f File) Is(other File) bool { return f.identity != "" && f.identity == other.identity }

// Program looks up the program in the PATH of the command's environment, instead of this process's PATH.
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
