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
	// Verbose shows every result on a terminal too, where of those that are only information the first few are shown; and
	// elsewhere the file of those that name no resource.
	Verbose bool
	// Truncate shows only the last lines of a long standard error on a terminal. Elsewhere all are shown.
	Truncate bool
}

// New returns the display that suits a stream.
func New(out terminal.Stream, o Options) Display {
	switch {
	case o.Quiet:
		return quiet(out)
	case out.IsTerminal():
		return (&live{out: out, verbose: o.Verbose, truncate: o.Truncate}).observe
	default:
		return (&plain{out: out, files: o.Verbose}).observe
	}
}

// quiet shows what a function that failed had to say, and nothing else.
func quiet(out terminal.Stream) Display {
	p := &plain{out: out}
	return func(e render.Event) {
		if finished, ok := e.(*render.FunctionFinished); ok && finished.Err != nil && finished.Function.Ran {
			p.finished(finished)
			p.flush()
		}
	}
}

// Duration words how long something took, as kpt does.
func Duration(d time.Duration) string { return d.Truncate(time.Millisecond).String() }
