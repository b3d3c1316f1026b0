// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package output

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"strings"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// maxProblems is the maximum number of errors and warnings that are listed for a function.
const maxProblems = 20

// problems lists the errors and warnings that functions have found in files, for programs that read the standard error, as
// compilers do: "path/file.yaml: field.path: message [severity]". kpt's lines leave the file out, and end before.
func (o *Output) problems(w Work) {
	if o.Program.Err.IsTerminal() {
		return
	}
	for i := range w.Report.Functions {
		f, left := &w.Report.Functions[i], maxProblems
		for j := range f.Results {
			r := &f.Results[j]
			if r.File == nil || r.File.Path == "" || r.Severity != "error" && r.Severity != "warning" {
				continue
			}
			if left--; left < 0 && !o.Program.Verbose {
				break
			}
			o.Program.Note("%s", terminal.Safe(problem(filepath.Join(o.Named, w.file(f, r)), r)))
		}
	}
}

func problem(file string, r *fnresultv1.ResultItem) string {
	parts := []string{file}
	if r.Field != nil && r.Field.Path != "" {
		parts = append(parts, r.Field.Path)
	}
	return fmt.Sprintf("%s: %s [%s]", strings.Join(parts, ": "), terminal.OneLine(r.Message), r.Severity)
}

// file returns the path in the tree of the file that a result is about. Functions know it in the package of its resource, which
// may be one below their own.
func (w *Work) file(f *renderstatus.Function, r *fnresultv1.ResultItem) string {
	dir := f.Package
	if ref := r.ResourceRef; ref != nil && w.Tree != nil {
		for _, n := range w.Resources {
			if names(ref, n) && path.Clean(resource.Path(n)) == path.Clean(r.File.Path) {
				dir = w.packageOf(n, dir)
				break
			}
		}
	}
	return path.Join(dir, r.File.Path)
}

func names(ref *yaml.ResourceIdentifier, n *yaml.RNode) bool {
	return ref.Name == resource.Name(n) && ref.Kind == resource.Kind(n) &&
		ref.Namespace == resource.Namespace(n) && ref.APIVersion == resource.APIVersion(n)
}

// packageOf returns the directory in the tree of a resource's package; otherwise where the resource does not say.
func (w *Work) packageOf(n *yaml.RNode, otherwise string) string {
	dir, err := filepath.Rel(w.Tree.Location("."), resource.Annotation(n, resource.PackageAnnotation))
	if err != nil {
		return otherwise
	}
	return cmp.Or(filepath.ToSlash(dir), otherwise)
}
