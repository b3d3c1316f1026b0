// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagecontext

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/resource"
)

// Generate puts a context into the files of a package, a map from path to content, and returns the files that it has then.
// Files without a context stay byte for byte as they are. Doing it twice is doing it once.
//
// Errors are worded as Porch words those of its function.
func Generate(files map[string]string, context Context) (map[string]string, error) {
	f := &fileSet{before: files}
	err := kio.Pipeline{
		Inputs: []kio.Reader{f}, Filters: []kio.Filter{Generator{context}}, Outputs: []kio.Writer{f}, ContinueOnEmptyResult: true,
	}.Execute()
	if err != nil {
		return nil, fmt.Errorf("failed to evaluate function %q: %w", FunctionName, err)
	}
	return f.after, nil
}

// fileSet reads and writes the files of a package, as far as they can have to do with contexts.
type fileSet struct {
	before, after map[string]string
	// count is how many resources each file had that was read.
	count map[string]int
}

// Read reads the root Kptfile, and the files that can hold a context by their names and by what is in them. Others may be
// templates, or anything else that is no YAML.
func (f *fileSet) Read() ([]*yaml.RNode, error) {
	f.count = map[string]int{}
	var all []*yaml.RNode
	for _, p := range slices.Sorted(maps.Keys(f.before)) {
		content := f.before[p]
		if p != kptfilev1.KptFileName && (!named(p) || !strings.Contains(content, ConfigMapName)) && p != FileName {
			continue
		}
		resources, err := packages.ParseFile(p, []byte(content))
		if err != nil {
			return nil, err
		}
		f.count[p] = len(resources)
		all = append(all, resources...)
	}
	return all, nil
}

func named(p string) bool {
	switch path.Ext(p) {
	case ".yaml", ".yml":
		return true
	}
	return path.Base(p) == kptfilev1.KptFileName
}

// Write takes the files whose resources have changed.
func (f *fileSet) Write(resources []*yaml.RNode) error {
	byFile := map[string][]*yaml.RNode{}
	for _, r := range resources {
		byFile[resource.Path(r)] = append(byFile[resource.Path(r)], r)
	}
	f.after = maps.Clone(f.before)
	for p, count := range f.count {
		if len(byFile[p]) == 0 && count > 0 {
			delete(f.after, p)
		}
	}
	for p, left := range byFile {
		// Contexts are only taken from a file, and only put into this one.
		if len(left) == f.count[p] && p != FileName {
			continue
		}
		content, err := packages.PrintFile(left)
		if err != nil {
			return fmt.Errorf("print %s: %w", p, err)
		}
		f.after[p] = string(content)
	}
	return nil
}
