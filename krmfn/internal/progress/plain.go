// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// plain writes the lines that kpt writes, which tools look for.
type plain struct {
	out     terminal.Stream
	options Options
	// where says which package functions run on; empty outside of packages.
	where string
	// functions is the number of functions of the package.
	functions int
	// running reports whether the latest function has been announced.
	running bool
	// lines buffers the lines of an event, which may be thousands of results, so that they are one write.
	lines bytes.Buffer
}

func (p *plain) observe(e render.Event) {
	defer p.flush()
	switch e := e.(type) {
	case *render.PackageStarted:
		p.begin(e)
	case *render.FunctionStarted:
		p.running = true
		p.line(0, p.started(e))
	case *render.FunctionFinished:
		if p.running {
			p.finished(e)
		}
		p.running = false
	case *render.PackageFinished:
		// A package that has no pipeline, or whose pipeline has failed, is not set apart from what follows.
		if e.Err == nil && p.functions > 0 {
			p.line(0, "")
		}
	}
}

// begin writes the heading of a package. The root directory of a file system has no name; it is called by its path.
func (p *plain) begin(e *render.PackageStarted) {
	p.functions, p.where = e.Functions, fmt.Sprintf(" on package %q", e.Name)
	if e.Name == "/" {
		p.where = fmt.Sprintf(" on package at path %q", e.Name)
	}
	p.line(0, p.out.Style.Bold(fmt.Sprintf("Package %q:", e.Name)))
}

func (p *plain) line(indent int, text string) {
	fmt.Fprintln(&p.lines, strings.Repeat("  ", indent)+text)
}

// flush writes the lines of an event. There is nobody to tell that it fails.
func (p *plain) flush() { _, _ = p.lines.WriteTo(p.out) }

func (p *plain) started(e *render.FunctionStarted) string {
	text := fmt.Sprintf("[RUNNING] %q", e.Function.Title())
	if e.Selected {
		text += fmt.Sprintf(" on %d resource(s)", e.Resources)
	}
	return text + p.where
}

func (p *plain) finished(e *render.FunctionFinished) {
	mark := p.out.Style.Green("[PASS]")
	if e.Err != nil {
		mark = p.out.Style.Red("[FAIL]")
	}
	p.line(0, fmt.Sprintf("%s %q in %s", mark, e.Function.Title(), Duration(time.Duration(e.Function.Duration))))
	p.said(&e.Function)
	if exited(e) {
		p.line(1, fmt.Sprintf("Exit code: %d", e.Function.ExitCode))
	}
}

func (p *plain) said(f *renderstatus.Function) {
	if len(f.Results) > 0 {
		p.line(1, "[Results]:")
		results, left := p.options.choose(f.Results, maxResults)
		for _, r := range results {
			p.line(2, resultLine(p.out.Style, r, p.options.Verbose))
		}
		if left > 0 {
			p.line(2, p.options.more(left))
		}
	}
	if f.Stderr != "" {
		p.line(1, "Stderr:")
		for line := range strings.SplitSeq(stderr(f), "\n") {
			p.line(2, terminal.Safe(strings.TrimSpace(line)))
		}
	}
}

// stderr returns what a function wrote, without the line feed at its end where it was an image: kpt gets the text of
// those from a container engine, line by line, and that of command lines as it is.
func stderr(f *renderstatus.Function) string {
	if f.Exec != "" {
		return f.Stderr
	}
	return strings.TrimRight(f.Stderr, "\n")
}
