// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package report tells how a render went when it is over: in a table and in diffs for people, and in a JSON document for programs.
package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Document is what --output json prints of a render or an evaluation.
type Document struct {
	// RenderStatus is Porch's render status: kpt's list of function results, and the error that ended it.
	RenderStatus renderstatus.RenderStatus `json:"renderStatus"`
	// Functions are all functions that the render came to, in order, with what evaluated them and how long it took.
	Functions []renderstatus.Function `json:"functions"`
	// ChangedFiles are the files that the render changes, sorted by path; empty when it failed.
	ChangedFiles []ChangedFile `json:"changedFiles"`
	// Written reports whether the changes have been written.
	Written bool `json:"written"`
	// ResourceList is the output of an evaluation whose input was no directory.
	ResourceList string `json:"resourceList,omitempty"`
}

// ChangedFile is a file that a render changes.
type ChangedFile struct {
	// Path is the file's path in the package, with slashes.
	Path string `json:"path"`
	// Change is "added", "modified" or "deleted".
	Change string `json:"change"`
	// Diff is the unified diff; only in a dry run.
	Diff string `json:"diff,omitempty"`
}

// The kinds of a change.
const (
	added    = "added"
	modified = "modified"
	deleted  = "deleted"
)

// NewDocument returns the document of a render. With diffs, each changed file has one.
func NewDocument(r renderstatus.Report, changes []packages.Change, diffs bool) Document {
	doc := Document{RenderStatus: r.RenderStatus, Functions: r.Functions, ChangedFiles: make([]ChangedFile, 0, len(changes))}
	if doc.Functions == nil {
		doc.Functions = []renderstatus.Function{}
	}
	for _, c := range changes {
		file := ChangedFile{Path: c.Path, Change: kindOf(c)}
		if diffs {
			file.Diff = Diff(c)
		}
		doc.ChangedFiles = append(doc.ChangedFiles, file)
	}
	return doc
}

func kindOf(c packages.Change) string {
	switch {
	case c.Before == nil:
		return added
	case c.After == nil:
		return deleted
	default:
		return modified
	}
}

// WriteJSON writes a document for people who read JSON, too.
func WriteJSON(w io.Writer, document any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return fmt.Errorf("write the JSON document: %w", err)
	}
	return nil
}
