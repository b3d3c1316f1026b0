// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"strings"

	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Work is a render, or an evaluation, that is over.
type Work struct {
	render.Result
	// Err is why it failed; nil when it succeeded.
	Err error

	// planned and begun are the packages of a render; an evaluation has none.
	planned []render.PlannedPackage
	begun   map[string]bool
}

// Unreached returns the work that an error kept from beginning.
func Unreached(err error) Work {
	return Work{Result: render.Result{Report: renderstatus.NewUnreached(err)}, Err: err}
}

// Observe notes the packages that a render comes to.
func (w *Work) Observe(e render.Event) {
	switch e := e.(type) {
	case *render.Started:
		w.planned, w.begun = e.Packages, map[string]bool{}
	case *render.PackageStarted:
		w.begun[e.Package] = true
	}
}

// saves tells whether what the functions have made is in the output, and not the status alone.
func (w *Work) saves() bool { return len(w.Output.Files) > 0 }

func (w *Work) passed() int {
	n := 0
	for i := range w.Report.Functions {
		if w.Report.Functions[i].Error == "" {
			n++
		}
	}
	return n
}

// packages counts packages as kpt does: a package counts as soon as one below it begins, as it is read before. Breadth first,
// where the root begins first, all packages are read before any begins.
func (w *Work) packages() int {
	if len(w.planned) > 0 && w.planned[0].Depth == 0 {
		return len(w.planned)
	}
	n := 0
	for _, p := range w.planned {
		if p.Depth == 0 || w.begun[p.Package] || w.begunBelow(p.Package) {
			n++
		}
	}
	return n
}

func (w *Work) begunBelow(dir string) bool {
	for begun := range w.begun {
		if strings.HasPrefix(begun, dir+"/") {
			return true
		}
	}
	return false
}

// list returns the resources as one ResourceList; "" if the work failed before there were any.
func (w *Work) list() (string, error) {
	if w.Tree == nil {
		return "", nil
	}
	var b bytes.Buffer
	err := w.Tree.WriteResourceList(&b, w.Resources)
	return b.String(), err
}
