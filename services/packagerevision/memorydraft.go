// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagerevision

import (
	"context"
	"errors"
	"maps"

	"github.com/krmfn/krmfn/services/render/packages"
)

// ErrDraftClosed is the error of the methods of a MemoryDraft that has been closed or discarded.
var ErrDraftClosed = errors.New("the draft is closed")

// MemoryDraft is a draft in memory, for tests of hosts and for examples. It is not safe for concurrent use.
type MemoryDraft struct {
	files, published map[string]string
	reasons          []TaskType
	closed           bool
}

var _ Draft = (*MemoryDraft)(nil)

// NewMemoryDraft returns a draft of a revision with these files, keyed by path.
func NewMemoryDraft(files map[string]string) *MemoryDraft {
	return &MemoryDraft{files: maps.Clone(files), published: maps.Clone(files)}
}

// Files returns the files of the draft.
func (m *MemoryDraft) Files(context.Context) (map[string]string, error) {
	if m.closed {
		return nil, ErrDraftClosed
	}
	return copied(m.files), nil
}

// Update replaces the files of the draft. It fails for an invalid path.
func (m *MemoryDraft) Update(_ context.Context, files map[string]string, reason TaskType) error {
	if m.closed {
		return ErrDraftClosed
	}
	checked, err := packages.NewMemory(files)
	if err != nil {
		return err
	}
	m.files, m.reasons = checked.Files(), append(m.reasons, reason)
	return nil
}

// Close publishes the files of the draft as those of the revision.
func (m *MemoryDraft) Close(context.Context) error {
	if m.closed {
		return ErrDraftClosed
	}
	m.closed, m.published = true, m.files
	return nil
}

// Discard ends the draft.
func (m *MemoryDraft) Discard(context.Context) error {
	if m.closed {
		return ErrDraftClosed
	}
	m.closed = true
	return nil
}

// Open reports whether the draft has been neither closed nor discarded.
func (m *MemoryDraft) Open() bool { return !m.closed }

// Published returns the files of the revision. These are the initial files until Close.
func (m *MemoryDraft) Published() map[string]string { return copied(m.published) }

// Reasons returns the reasons of all updates, in order.
func (m *MemoryDraft) Reasons() []TaskType { return m.reasons }

// copied returns a copy that is never nil.
func copied(files map[string]string) map[string]string {
	c := make(map[string]string, len(files))
	maps.Copy(c, files)
	return c
}
