// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// EditKptfile returns out with the Kptfile of package p edited. The Kptfile is first decoded strictly; p must come from Load.
// If out is empty, the Kptfile as read is edited. If out has other files but no Kptfile, out is returned unchanged.
//
// Unchanged parts keep their bytes. In changed top-level fields, sequences are printed indented, as kpt prints the Kptfile.
func (t *Tree) EditKptfile(out Output, p *Package, edit func(kf *yaml.RNode) error) (Output, error) {
	file := path.Join(p.Dir, kptfile.FileName)
	content := p.kptfile
	at := slices.IndexFunc(out.Files, func(f File) bool { return f.Path == file })
	switch {
	case at >= 0:
		content = out.Files[at].Content
	case len(out.Changes) > 0 || len(out.Files) > 0:
		return out, nil
	}
	content, err := editKptfile(p, content, edit)
	if err != nil {
		return out, err
	}
	out.Files, out.Changes = slices.Clone(out.Files), slices.DeleteFunc(slices.Clone(out.Changes), func(c Change) bool { return c.Path == file })
	if at >= 0 {
		out.Files[at].Content = content
	}
	if !bytes.Equal(content, p.kptfile) {
		out.Changes = append(out.Changes, Change{Path: file, Before: p.kptfile, After: content})
		slices.SortFunc(out.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	}
	return out, nil
}

func editKptfile(p *Package, content []byte, edit func(kf *yaml.RNode) error) ([]byte, error) {
	if _, err := kptfile.Parse(p.Location, content); err != nil {
		return nil, err
	}
	documents, err := parse(content, kptfile.FileName, p.Location)
	if err != nil {
		return nil, err
	}
	if err := resource.SetAnnotation(documents[0], resource.SeqIndentAnnotation, string(yaml.WideSequenceStyle)); err != nil {
		return nil, err
	}
	if err := edit(documents[0]); err != nil {
		return nil, err
	}
	if edited, ok := spliceFields(string(content), resource.WithoutPlace(documents[0].Document())); ok {
		return edited, nil
	}
	return splice(kptfile.FileName, content, documents)
}
