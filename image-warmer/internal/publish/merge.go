// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package publish writes the metadata of images to where function runners read it: a ConfigMap or a file. What was written
// before is not lost where a registry cannot be asked.
package publish

import (
	"fmt"
	"slices"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/internal/images/metadata"
	"github.com/krmfn/krmfn/internal/images/registry"
)

// Metadata is what is known after a run.
type Metadata struct {
	// Resolved are the images that registries have told of.
	Resolved []registry.Image
	// Listed are the references of all images that there should be, resolved or not.
	Listed []string
	// Complete says that there are no others. Otherwise what was there before is kept, whatever it is.
	Complete bool
}

// merge returns what is to be written where before was. Where nothing is resolved it is what was there.
func (m *Metadata) merge(before []registry.Image) ([]registry.Image, report.Metadata) {
	all := slices.Clone(m.Resolved)
	var outcome report.Metadata
	for _, old := range before {
		switch {
		case slices.ContainsFunc(m.Resolved, func(i registry.Image) bool { return i.Reference == old.Reference }):
		case m.Complete && len(m.Resolved) > 0 && !slices.Contains(m.Listed, old.Reference):
			outcome.Dropped = append(outcome.Dropped, old.Reference)
		default:
			all = append(all, old)
			outcome.Kept = append(outcome.Kept, old.Reference)
		}
	}
	slices.Sort(outcome.Kept)
	slices.Sort(outcome.Dropped)
	return all, outcome
}

// content returns the text that is to take the place of another one, which may be empty, unless the outcome has an action:
// then there is nothing to write. problem says that the other one is
// not understood, so that nothing of it is kept.
func (m *Metadata) content(before []byte) (text []byte, outcome report.Metadata, problem, err error) {
	var known []registry.Image
	if len(before) > 0 {
		known, problem = metadata.Parse(before)
	}
	all, outcome := m.merge(known)
	if len(m.Resolved) == 0 {
		outcome.Action = report.Nothing
		return nil, outcome, problem, nil
	}
	text, err = metadata.Format(all)
	if err != nil {
		return nil, report.Metadata{}, problem, fmt.Errorf("metadata of images: %w", err)
	}
	if string(text) == string(before) {
		outcome.Action = report.Unchanged
	}
	return text, outcome, problem, nil
}
