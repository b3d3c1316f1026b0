// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/monochromegane/go-gitignore"
)

// ignoreFile lists, in a subset of gitignore's language, what of a package is not to be read. It holds for its own package
// only, not for the packages below.
const ignoreFile = ".krmignore"

// ignore is what a package's own file says is not to be read. The zero value ignores nothing.
type ignore struct {
	dir     string
	matcher gitignore.IgnoreMatcher
}

// readIgnore reads what the package in a directory of a tree ignores. Without a file of its own it ignores nothing.
func readIgnore(source Source, dir string) (ignore, error) {
	content, err := source.ReadFile(path.Join(dir, ignoreFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ignore{}, nil
	case err != nil:
		return ignore{}, fmt.Errorf("read %s of package %s: %w", ignoreFile, dir, err)
	}
	return ignore{dir: dir, matcher: gitignore.NewGitIgnoreFromReader(".", patterns(content))}, nil
}

// patterns leaves out lines that have nothing but marks, which name no file and which the matcher would panic on.
func patterns(content []byte) *strings.Reader {
	var lines []string
	for line := range strings.Lines(string(content)) {
		line = strings.Trim(line, " \t\r\n")
		if strings.Trim(line, "!/\\ \t") != "" {
			lines = append(lines, line)
		}
	}
	return strings.NewReader(strings.Join(lines, "\n"))
}

// matchFile tells whether a file of the package is ignored, itself or with a directory above it.
func (i ignore) matchFile(p string) bool {
	if i.matcher == nil {
		return false
	}
	return i.matcher.Match(relative(i.dir, p), false) || path.Dir(p) != i.dir && i.matchDir(path.Dir(p))
}

// matchDir tells whether a directory below the package's own is ignored, itself or with one above it. It is a path of the
// tree.
func (i ignore) matchDir(dir string) bool {
	if i.matcher == nil {
		return false
	}
	for dir = relative(i.dir, dir); dir != "."; dir = path.Dir(dir) {
		if i.matcher.Match(dir, true) {
			return true
		}
	}
	return false
}
