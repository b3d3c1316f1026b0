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

type ignore struct {
	dir     string
	matcher gitignore.IgnoreMatcher
}

func readIgnores(source Source, dirs []string) (map[string]ignore, error) {
	ignores := make(map[string]ignore, len(dirs))
	for _, dir := range dirs {
		content, err := source.ReadFile(path.Join(dir, ignoreFile))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("read %s of package %s: %w", ignoreFile, dir, err)
		}
		ignores[dir] = ignore{dir: dir, matcher: gitignore.NewGitIgnoreFromReader(".", patterns(content))}
	}
	return ignores, nil
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

// match tells whether a file of the package is ignored, itself or with a directory above it.
func (i ignore) match(p string) bool {
	if i.matcher == nil {
		return false
	}
	rel := relative(i.dir, p)
	if i.matcher.Match(rel, false) {
		return true
	}
	for dir := path.Dir(rel); dir != "."; dir = path.Dir(dir) {
		if i.matcher.Match(dir, true) {
			return true
		}
	}
	return false
}
