// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package drafts has drafts for package packagerevision whose files are in memory, or in a directory.
package drafts

import (
	"context"
	"errors"
	"maps"

	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/render/packages"
)

// ErrClosed says that a draft has been closed or discarded before.
var ErrClosed = errors.New("the draft is not open any more")

// Memory is a draft in memory. It is used by one goroutine.
type Memory struct {
	files, published map[string]string
	reasons          []packagerevision.TaskType
	closed           bool
}

var _ packagerevision.Draft = (*Memory)(nil)

// NewMemory returns a draft of a revision with the files given, by path.
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

// Update replaces the files of the draft. The error says which path names no file of a package.
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

// Close makes the files of the draft those of the revision.
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

// Open tells whether the draft has been neither closed nor discarded.
func (m *Memory) Open() bool { return !m.closed }

// Published returns the files of the revision: those that it had when the draft began, until that is closed.
func (m *Memory) Published() map[string]string { return copied(m.published) }

// Reasons returns why the files of the draft were replaced, each time.
func (m *Memory) Reasons() []packagerevision.TaskType { return m.reasons }

// copied returns a map that can be written to, even of none.
func copied(files map[string]string) map[string]string {
	c := make(map[string]string, len(files))
	maps.Copy(c, files)
	return c
}
