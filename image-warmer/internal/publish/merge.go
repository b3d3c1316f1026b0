// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package publish writes the metadata of images to a ConfigMap or a file, which function runners read. If a registry is unavailable, the
// metadata of earlier runs is kept.
package publish

import (
	"fmt"
	"slices"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/internal/images/metadata"
	"github.com/krmfn/krmfn/internal/images/registry"
)

// Metadata is the result of a run.
type Metadata struct {
	// Resolved are the images that were found in registries.
	Resolved []registry.Image
	// Listed are the references of all images in the sources, resolved or not.
	Listed []string
	// Complete reports that the sources name no other images. Otherwise all earlier metadata is kept.
	Complete bool
}

// merge returns the images to write instead of before. If no image was resolved, it keeps all images.
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

// content returns the text to write instead of before, which may be empty. If the outcome has an action, nothing needs to be written. If
// before is invalid, problem says why, and all of it is dropped.
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
