// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaldir

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/monochromegane/go-gitignore"

	"github.com/krmfn/krmfn/services/kptfile"
)

// ignoreFile lists what of a package is not read; see package packages.
const ignoreFile = ".krmignore"

// list lists the files, without the packages below that a package above ignores.
func (s *source) list() error {
	paths, err := s.Source.Paths()
	if err != nil {
		return err
	}
	s.paths = paths
	if !slices.Contains(paths, kptfile.FileName) {
		s.paths = append(s.paths, kptfile.FileName)
	}
	for _, dir := range s.packages() {
		// One that has been left out by now has no say.
		if !slices.Contains(s.paths, path.Join(dir, kptfile.FileName)) {
			continue
		}
		if err := s.leaveOut(dir); err != nil {
			return err
		}
	}
	return nil
}

// packages returns the directories of all packages, each after those above it.
func (s *source) packages() []string {
	dirs := []string{"."}
	for _, p := range s.paths {
		if path.Base(p) == kptfile.FileName && p != kptfile.FileName {
			dirs = append(dirs, path.Dir(p))
		}
	}
	slices.SortFunc(dirs[1:], walkOrder)
	return dirs
}

// leaveOut leaves out the packages directly below one that its own file says are to be ignored.
func (s *source) leaveOut(dir string) error {
	content, err := s.Source.ReadFile(path.Join(dir, ignoreFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("read %s of %s: %w", ignoreFile, dir, err)
	}
	matcher := gitignore.NewGitIgnoreFromReader(".", patterns(content))
	all := s.packages()
	for _, sub := range all {
		if sub != dir && owner(all, sub) == dir && ignored(matcher, dir, sub) {
			s.paths = slices.DeleteFunc(s.paths, func(p string) bool { return strings.HasPrefix(p, sub+"/") })
		}
	}
	return nil
}

// owner returns the directory of the nearest package above another.
func owner(packages []string, dir string) string {
	for dir = path.Dir(dir); !slices.Contains(packages, dir); {
		dir = path.Dir(dir)
	}
	return dir
}

// ignored tells whether a directory below another, or one between them, is to be ignored.
func ignored(matcher gitignore.IgnoreMatcher, above, dir string) bool {
	for ; dir != above; dir = path.Dir(dir) {
		rel := dir
		if above != "." {
			rel = strings.TrimPrefix(dir, above+"/")
		}
		if matcher.Match(rel, true) {
			return true
		}
	}
	return false
}

// patterns leaves out lines that have nothing but marks, on which the matcher panics.
func patterns(content []byte) *strings.Reader {
	var lines []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); strings.Trim(line, "!/\\ \t") != "" {
			lines = append(lines, line)
		}
	}
	return strings.NewReader(strings.Join(lines, "\n"))
}
