// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"strings"

	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// work is a render, or an evaluation, that is over.
type work struct {
	render.Result
	// packages are those of a render; an evaluation has none.
	packages visits
	// err is why it failed; nil when it succeeded.
	err error
}

// rendering renders a package within the time that it may take.
func (c *command) rendering(ctx context.Context, source packages.Source, runner *runnerFlags, options render.Options) (w work) {
	ctx, cancel := runner.limit(ctx)
	defer cancel()
	evaluator, disconnect, err := c.connect(ctx, runner)
	if err != nil {
		return work{Result: render.Result{Report: renderstatus.NewUnreached(err)}, err: err}
	}
	defer disconnect()
	tags, done := runner.tags()
	defer done()
	options.Tags = tags
	display := options.Observe
	options.Evaluator = evaluator
	options.Observe = func(e render.Event) {
		w.packages.observe(e)
		display(e)
	}
	w.Result, w.err = render.Package(ctx, source, options)
	return w
}

// saves tells whether what the functions have made is in the output, and not the status alone.
func (w *work) saves() bool { return len(w.Output.Files) > 0 }

// passed counts the functions that succeeded.
func (w *work) passed() int {
	n := 0
	for i := range w.Report.Functions {
		if w.Report.Functions[i].Error == "" {
			n++
		}
	}
	return n
}

// visits are the packages that a render came to.
type visits struct {
	planned []render.PlannedPackage
	begun   map[string]bool
}

func (v *visits) observe(e render.Event) {
	switch e := e.(type) {
	case *render.Started:
		v.planned, v.begun = e.Packages, map[string]bool{}
	case *render.PackageStarted:
		v.begun[e.Package] = true
	}
}

// count counts them as kpt does: a package counts as soon as one below it begins, as it is read before. Breadth first, where
// the root begins first, all packages are read before any begins.
func (v *visits) count() int {
	if len(v.planned) > 0 && v.planned[0].Depth == 0 {
		return len(v.planned)
	}
	n := 0
	for _, p := range v.planned {
		if p.Depth == 0 || v.begun[p.Package] || v.above(p.Package) {
			n++
		}
	}
	return n
}

// above tells whether a package begun is below a directory.
func (v *visits) above(dir string) bool {
	for begun := range v.begun {
		if strings.HasPrefix(begun, dir+"/") {
			return true
		}
	}
	return false
}
