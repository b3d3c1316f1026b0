// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/renderstatus"
)

// plain writes lines in the shape of kpt's, which tools look for.
type plain struct {
	out terminal.Stream
	// name is the package's; empty outside of packages.
	name string
	// running tells whether the latest function has been announced.
	running bool
	// apart tells whether the next package is to be set apart from what is above it.
	apart bool
}

func (p *plain) observe(e render.Event) {
	switch e := e.(type) {
	case *render.PackageStarted:
		p.name = e.Name
		if p.apart {
			p.line(0, "")
		}
		p.line(0, p.out.Style.Bold(fmt.Sprintf("Package %q:", e.Name)))
	case *render.FunctionStarted:
		p.running = true
		p.line(0, p.started(e))
	case *render.FunctionFinished:
		if p.running {
			p.finished(e)
		}
		p.running = false
	case *render.PackageFinished:
		p.apart = true
	}
}

func (p *plain) line(indent int, text string) {
	fmt.Fprintln(p.out, strings.Repeat("  ", indent)+text)
}

func (p *plain) started(e *render.FunctionStarted) string {
	text := fmt.Sprintf("[RUNNING] %q", e.Function.Title())
	if e.Selected {
		text += fmt.Sprintf(" on %d resource(s)", e.Resources)
	}
	if p.name != "" {
		text += fmt.Sprintf(" on package %q", p.name)
	}
	return text
}

func (p *plain) finished(e *render.FunctionFinished) {
	mark := p.out.Style.Green("[PASS]")
	if e.Err != nil {
		mark = p.out.Style.Red("[FAIL]")
	}
	p.line(0, fmt.Sprintf("%s %q in %s", mark, e.Function.Title(), Duration(time.Duration(e.Function.Duration))))
	p.details(&e.Function)
}

// details writes what a function had to say.
func (p *plain) details(f *renderstatus.Function) {
	if len(f.Results) > 0 {
		p.line(1, "[Results]:")
		for i := range f.Results {
			p.line(2, resultLine(p.out.Style, &f.Results[i]))
		}
	}
	if f.Stderr != "" {
		p.line(1, "Stderr:")
		for line := range strings.SplitSeq(strings.TrimRight(f.Stderr, "\n"), "\n") {
			p.line(2, terminal.Safe(strings.TrimSpace(line)))
		}
	}
	if f.Ran && f.ExitCode != 0 {
		p.line(1, fmt.Sprintf("Exit code: %d", f.ExitCode))
	}
}
