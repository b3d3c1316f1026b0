// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package progress shows how a render goes while it goes: in lines that follow each other and have kpt's shape, or on a
// terminal in one line for each function, which is drawn over again until the function has ended.
package progress

import (
	"time"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render"
)

// Display shows the events of a render. Events come one after the other.
type Display func(render.Event)

// Options say what is shown.
type Options struct {
	// Quiet leaves out everything but functions that failed.
	Quiet bool
	// Verbose shows every result, with its file. Without it, a function that has many shows some, errors first.
	Verbose bool
	// ResultsFile is the file that all results are written to; empty for none.
	ResultsFile string
	// Truncate shows only the last lines of a long standard error on a terminal. Elsewhere all are shown.
	Truncate bool
	// Notices, unless nil, are shown, too.
	Notices *Notices
}

// New returns the display that suits a stream.
func New(out terminal.Stream, o Options) Display {
	switch {
	case o.Quiet:
		return quiet(out, o)
	case out.IsTerminal():
		return (&live{out: out, options: o}).observe
	default:
		o.Notices.show(&out)
		return (&plain{out: out, options: o}).observe
	}
}

// quiet shows what a function that failed had to say, and nothing else.
func quiet(out terminal.Stream, o Options) Display {
	p := &plain{out: out, options: o}
	return func(e render.Event) {
		if finished, ok := e.(*render.FunctionFinished); ok && finished.Err != nil && finished.Function.Ran {
			p.finished(finished)
			p.flush()
		}
	}
}

// Duration words how long something took, as kpt does.
func Duration(d time.Duration) string { return d.Truncate(time.Millisecond).String() }
