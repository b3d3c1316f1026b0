// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package terminal knows about the streams that people look at: whether one is a terminal, how wide it is, and how text
// in it is coloured.
package terminal

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// fallbackWidth is the width of a terminal that does not tell its own, in columns.
const fallbackWidth = 80

// Stream is an output stream. It is written to by one goroutine at a time.
type Stream struct {
	io.Writer
	// Width returns the terminal's width in columns; it may change while the stream is in use. It is nil for a stream that
	// is no terminal.
	Width func() int
	// Style colours what is written; the zero value does not.
	Style Style
}

// NewStream returns the stream of a file, without colours. kind is what the environment's TERM says; a dumb terminal, which
// can do nothing but write on, passes for none.
func NewStream(file *os.File, kind string) Stream {
	fd := int(file.Fd())
	if kind == "dumb" || !term.IsTerminal(fd) {
		return Stream{Writer: file}
	}
	return Stream{Writer: file, Width: func() int {
		width, _, err := term.GetSize(fd)
		if err != nil || width <= 0 {
			return fallbackWidth
		}
		return width
	}}
}

// IsTerminal reports whether the stream is a terminal, on which lines can be overwritten.
func (s Stream) IsTerminal() bool { return s.Width != nil }

// The values of --color.
const (
	Auto   = "auto"
	Always = "always"
	Never  = "never"
)

// Coloured returns the stream with or without colours. In mode auto, terminals have colours unless the environment variable
// NO_COLOR is set (see https://no-color.org). An unknown mode is an error.
func (s Stream) Coloured(mode string, getenv func(string) string) (Stream, error) {
	switch mode {
	case Always:
		s.Style.on = true
	case Never:
		s.Style.on = false
	case Auto:
		s.Style.on = s.IsTerminal() && getenv("NO_COLOR") == ""
	default:
		return s, fmt.Errorf("--color is %q, want auto, always or never", mode)
	}
	return s, nil
}
