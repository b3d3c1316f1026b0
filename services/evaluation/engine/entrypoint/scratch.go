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

// Scratch is where functions write.
type Scratch struct {
	// Dirs are the directories, those first that are the runner's choice.
	Dirs []string
	// Root is the root directory. What is on another device than it was mounted, and may be the machine's.
	Root string
}

// container is the scratch of a container: directories of images that any user may write to, and one that engines mount.
var container = Scratch{Dirs: []string{"/tmp", "/var/tmp", "/dev/shm"}, Root: "/"}

// writable returns the first of the directories that files can be made in.
func (s Scratch) writable() (string, error) {
	for _, dir := range s.Dirs {
		if made, err := os.MkdirTemp(dir, "krmfn-*"); err == nil {
			return dir, os.Remove(made)
		}
	}
	return "", fmt.Errorf("the image has no directory that its user can write to: none of %s", strings.Join(s.Dirs, ", "))
}

// files are those of the scratch directories before the first call, by directory and name.
type files map[string]map[string]bool

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

// device returns the number of the device that a directory is on.
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

// restore removes what has come to the directories since, so that no call sees what another left.
func (f files) restore() {
	for dir, before := range f {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if path := filepath.Join(dir, e.Name()); !before[e.Name()] && !kept(e) {
				_ = os.RemoveAll(path)
			}
		}
	}
}

// scratchPrefix begins the names of the runner's directories.
const scratchPrefix = "krm-function-"

// kept tells whether a file is one of the runner's, which removes what is in them, or another user's.
func kept(e os.DirEntry) bool {
	info, err := e.Info()
	if err != nil || strings.HasPrefix(e.Name(), scratchPrefix) {
		return true
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) != os.Getuid()
}
