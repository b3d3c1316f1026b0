// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package directory

import (
	"path"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/services/render/kptfile"
	"github.com/krmfn/krmfn/services/render/packages"
)

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
	ignore, err := packages.ReadIgnore(s.Source, dir)
	if err != nil {
		return err
	}
	all := s.packages()
	for _, sub := range all {
		if sub != dir && owner(all, sub) == dir && ignore.MatchDir(sub) {
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
