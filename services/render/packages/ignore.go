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

// ignoreFile is the name of the file that lists, in a subset of gitignore's syntax, the files of its package that are not read.
// It does not apply to subpackages.
const ignoreFile = ".krmignore"

// ignore holds the patterns of one ignoreFile. The zero value ignores nothing.
type ignore struct {
	dir     string
	matcher gitignore.IgnoreMatcher
}

// readIgnore reads the ignoreFile of the package in a directory of the tree, if it has one.
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

// patterns drops lines that consist of special characters only. They match no file, and the matcher panics on them.
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

// matchFile reports whether the package ignores a file or a directory above it.
func (i ignore) matchFile(p string) bool {
	if i.matcher == nil {
		return false
	}
	return i.matcher.Match(relative(i.dir, p), false) || path.Dir(p) != i.dir && i.matchDir(path.Dir(p))
}

// matchDir reports whether the package ignores a directory below its own, or a directory in between. dir is a path of the tree.
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
