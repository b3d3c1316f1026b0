// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package entrypoint

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Scratch describes the directories that functions can write to.
type Scratch struct {
	// Dirs are the directories, in order of preference for the runner's own.
	Dirs []string
	// Root is the root directory. Directories on other devices are mounts, possibly of the host, and are not cleaned.
	Root string
}

// container is the Scratch of a container: directories that images make writable for all users, and /dev/shm, which engines mount.
var container = Scratch{Dirs: []string{"/tmp", "/var/tmp", "/dev/shm"}, Root: "/"}

// writable returns the first directory in which a file can be created.
func (s Scratch) writable() (string, error) {
	for _, dir := range s.Dirs {
		if made, err := os.MkdirTemp(dir, "krmfn-*"); err == nil {
			return dir, os.Remove(made)
		}
	}
	return "", fmt.Errorf("the image has no directory that its user can write to: none of %s", strings.Join(s.Dirs, ", "))
}

// files records the files before the first call, by directory and name.
type files map[string]map[string]bool

// list returns the current files of the directories on the root device.
func (s Scratch) list() files {
	f := files{}
	for _, dir := range s.Dirs {
		entries, err := os.ReadDir(dir)
		if err != nil || device(dir) != device(s.Root) {
			continue
		}
		f[dir] = map[string]bool{}
		for _, e := range entries {
			f[dir][e.Name()] = true
		}
	}
	return f
}

// device returns the device number of a directory, or nil.
func device(dir string) any {
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	return stat.Dev
}

// restore removes files that were created since, so that no call sees files of another.
func (f files) restore() {
	for dir, before := range f {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); !before[e.Name()] && !mustKeep(e) {
				_ = os.RemoveAll(path)
			}
		}
	}
}

// scratchPrefix is the prefix of the runner's scratch directories.
const scratchPrefix = "krm-function-"

// mustKeep reports whether restore must keep a file: it belongs to the runner, which cleans it itself, or to another user.
func mustKeep(e os.DirEntry) bool {
	info, err := e.Info()
	if err != nil || strings.HasPrefix(e.Name(), scratchPrefix) {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) != os.Getuid()
}
