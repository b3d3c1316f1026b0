// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
)

// encode prints the resources of one file, by their index. Resources without one come last.
func encode(resources []*yaml.RNode) ([]byte, error) {
	resources, err := byIndex(resources)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := WriteDocuments(&b, resources); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func byIndex(resources []*yaml.RNode) ([]*yaml.RNode, error) {
	type indexed struct {
		index int
		r     *yaml.RNode
	}
	sorted := make([]indexed, 0, len(resources))
	var last []*yaml.RNode
	for _, r := range resources {
		text := resource.Index(r)
		if text == "" {
			last = append(last, r)
			continue
		}
		index, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("config.kubernetes.io/index %q of %s %q is not a number",
				text, resource.Kind(r), resource.Name(r))
		}
		sorted = append(sorted, indexed{index, r})
	}
	slices.SortStableFunc(sorted, func(a, b indexed) int { return cmp.Compare(a.index, b.index) })
	out := make([]*yaml.RNode, 0, len(resources))
	for _, s := range sorted {
		out = append(out, s.r)
	}
	return append(out, last...), nil
}

// WriteResourceList prints resources as one ResourceList, in which the annotations of path, index and indentation stay.
// The paths are relative to the tree's root.
func (t *Tree) WriteResourceList(w io.Writer, resources []*yaml.RNode) error {
	placed := make([]*yaml.RNode, 0, len(resources))
	for _, r := range resources {
		file, err := t.file(r)
		if err != nil {
			return err
		}
		r = r.Copy()
		resource.ClearAnnotations(r, resource.PackageAnnotation, resource.IDAnnotation, resource.FormerIDAnnotation,
			resource.MigrationIDAnnotation, resource.SelectionIDAnnotation)
		for _, key := range []string{resource.PathAnnotation, resource.FormerPathAnnotation} {
			if err := resource.SetAnnotation(r, key, file); err != nil {
				return err
			}
		}
		placed = append(placed, r)
	}
	return kio.ByteWriter{
		Writer:                w,
		KeepReaderAnnotations: true,
		WrappingAPIVersion:    kio.ResourceListAPIVersion,
		WrappingKind:          kio.ResourceListKind,
	}.Write(placed)
}
