// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"bytes"
	"io"
	"path"

	"sigs.k8s.io/kustomize/kyaml/kio"

	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Work is a render, or an evaluation, that is over.
type Work struct {
	render.Result
	// Err is why it failed; nil when it succeeded.
	Err error

	// planned are the packages of a render, and begun the directories of those that it came to, with all above them; an
	// evaluation has none.
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
		for dir := e.Package; dir != "." && dir != "/"; dir = path.Dir(dir) {
			w.begun[dir] = true
		}
	}
}

// saves reports whether the output contains the functions' results and not only the status.
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
		if p.Depth == 0 || w.begun[p.Package] {
			n++
		}
	}
	return n
}

// writeList writes the resources as one ResourceList: those of a directory with the paths of their files, others as they are.
func (w *Work) writeList(out io.Writer) error {
	if w.Tree != nil {
		return w.Tree.WriteResourceList(out, w.Resources)
	}
	for _, r := range w.Resources {
		yamlnode.QuoteUnreadable(r.Document())
	}
	return kio.ByteWriter{
		Writer: out, KeepReaderAnnotations: true, WrappingAPIVersion: kio.ResourceListAPIVersion, WrappingKind: kio.ResourceListKind,
	}.Write(w.Resources)
}

// list returns the resources as one ResourceList; "" if the work failed.
func (w *Work) list() (string, error) {
	if w.Err != nil {
		return "", nil
	}
	var b bytes.Buffer
	err := w.writeList(&b)
	return b.String(), err
}
