// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package diff shows what changes in files, as patch(1) reads it and as people know it from git.
package diff

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render/packages"
)

const devNull = "/dev/null"

// Unified returns the unified diff of one file. A file that is new, or deleted, is compared with /dev/null.
func Unified(c packages.Change) string {
	from, to := "a/"+c.Path, "b/"+c.Path
	if c.Before == nil {
		from = devNull
	}
	if c.After == nil {
		to = devNull
	}
	// The first line is the command that the library stands for.
	_, text, _ := bytes.Cut(diff.Diff(from, c.Before, to, c.After), []byte{'\n'})
	return string(text)
}

// Write writes the diffs of all changes, in colours where the stream has them. On a terminal, control characters in the
// files are made harmless.
func Write(out terminal.Stream, changes []packages.Change) error {
	for _, c := range changes {
		for line := range strings.Lines(Unified(c)) {
			line, end, _ := cutEnd(line)
			if out.IsTerminal() {
				line = terminal.Safe(line)
			}
			if _, err := fmt.Fprint(out, paint(out.Style, line), end); err != nil {
				return err
			}
		}
	}
	return nil
}

func cutEnd(line string) (text, end string, ok bool) {
	text, ok = strings.CutSuffix(line, "\n")
	return text, line[len(text):], ok
}

func paint(style terminal.Style, line string) string {
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		return style.Bold(line)
	case strings.HasPrefix(line, "@@"):
		return style.Cyan(line)
	case strings.HasPrefix(line, "-"):
		return style.Red(line)
	case strings.HasPrefix(line, "+"):
		return style.Green(line)
	default:
		return line
	}
}
