// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render/packages"
)

const devNull = "/dev/null"

// Diff returns the unified diff of one file, as patch(1) reads it. A file that is new, or deleted, is compared with /dev/null.
func Diff(c packages.Change) string {
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

// WriteDiff writes the diffs of all changes, in colours if the stream has them. On a terminal, it makes control characters
// in the files harmless.
func WriteDiff(out terminal.Stream, changes []packages.Change) error {
	for _, c := range changes {
		for line := range strings.Lines(Diff(c)) {
			text := strings.TrimSuffix(line, "\n")
			end := line[len(text):]
			if out.IsTerminal() {
				text = terminal.Safe(text)
			}
			if _, err := fmt.Fprint(out, paint(out.Style, text), end); err != nil {
				return err
			}
		}
	}
	return nil
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
