// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package drafts implements packagerevision.Draft for files in memory and in a directory.
package drafts

import (
	"context"
	"errors"
	"maps"

	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/render/packages"
)

// ErrClosed is returned by methods of a draft that has been closed or discarded.
var ErrClosed = errors.New("the draft is closed")

// Memory is a draft in memory. Not safe for concurrent use.
type Memory struct {
	files, published map[string]string
	reasons          []packagerevision.TaskType
	closed           bool
}

var _ packagerevision.Draft = (*Memory)(nil)

// NewMemory returns a draft of a revision with these files, keyed by path.
func NewMemory(files map[string]string) *Memory {
	return &Memory{files: maps.Clone(files), published: maps.Clone(files)}
}

// Files returns the files of the draft.
func (m *Memory) Files(context.Context) (map[string]string, error) {
	if m.closed {
		return nil, ErrClosed
	}
	return copied(m.files), nil
}

// Update replaces the files of the draft. It fails for an invalid path.
func (m *Memory) Update(_ context.Context, files map[string]string, reason packagerevision.TaskType) error {
	if m.closed {
		return ErrClosed
	}
	checked, err := packages.NewMemory(files)
	if err != nil {
		return err
	}
	m.files, m.reasons = checked.Files(), append(m.reasons, reason)
	return nil
}

// Close publishes the files of the draft as those of the revision.
func (m *Memory) Close(context.Context) error {
	if m.closed {
		return ErrClosed
	}
	m.closed, m.published = true, m.files
	return nil
}

// Discard ends the draft.
func (m *Memory) Discard(context.Context) error {
	if m.closed {
		return ErrClosed
	}
	m.closed = true
	return nil
}

// Open reports whether the draft has been neither closed nor discarded.
func (m *Memory) Open() bool { return !m.closed }

// Published returns the files of the revision. These are the initial files until Close.
func (m *Memory) Published() map[string]string { return copied(m.published) }

// Reasons returns the reasons of all updates, in order.
func (m *Memory) Reasons() []packagerevision.TaskType { return m.reasons }

// copied returns a copy that is never nil.
func copied(files map[string]string) map[string]string {
	c := make(map[string]string, len(files))
	maps.Copy(c, files)
	return c
}
