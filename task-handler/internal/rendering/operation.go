// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"bytes"
	"context"
	"maps"
	"slices"

	"github.com/krmfn/krmfn/services/packagerevision"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

// Operation is an operation on a draft with the files of a request. It ends with a render.
type Operation struct {
	// Name is the name in the log.
	Name string
	// Do calls a method of the handler on the draft.
	Do func(ctx context.Context, h *packagerevision.Handler, draft packagerevision.Draft) (*renderstatus.Report, error)
}

// Action is what the caller must do with its draft.
type Action int

// The actions. Only Close and Keep come with changes.
const (
	Close Action = iota + 1
	Keep
	Leave
	Discard
)

// draft records the calls of a handler.
type draft struct {
	files  map[string]string
	action Action
}

func (d *draft) Files(context.Context) (map[string]string, error) { return maps.Clone(d.files), nil }

func (d *draft) Update(_ context.Context, files map[string]string, _ packagerevision.TaskType) error {
	d.files, d.action = files, Keep
	return nil
}

func (d *draft) Close(context.Context) error   { d.action = Close; return nil }
func (d *draft) Discard(context.Context) error { d.action = Discard; return nil }

// do performs the operation on a draft with the files of source, and returns the files after it. An error that says nothing about the package
// means that the request is invalid or that ctx has ended, because this draft never fails.
func (m *Operation) do(ctx context.Context, source *packages.Memory, options render.Options, result *Result) (*packages.Memory, error) {
	before := source.Files()
	d := &draft{files: before, action: Leave}
	observe := options.Observe
	options.Observe = func(event render.Event) {
		if started, ok := event.(*render.Started); ok {
			result.Package = topmost(started)
		}
		if observe != nil {
			observe(event)
		}
	}
	report, err := m.Do(ctx, &packagerevision.Handler{Render: options}, d)
	if report != nil {
		result.Report = *report
	}
	if err != nil && result.Report.Error == "" {
		return nil, err
	}
	result.Action, result.Failure = d.action, err
	if d.action == Discard {
		return source, nil
	}
	result.Changes = changes(before, d.files)
	return packages.NewMemory(d.files)
}

// topmost returns the directory of the root package.
func topmost(started *render.Started) string {
	for _, p := range started.Packages {
		if p.Depth == 0 {
			return p.Package
		}
	}
	return ""
}

// changes returns the changed files, sorted by path.
func changes(before, after map[string]string) []packages.Change {
	all := maps.Clone(before)
	maps.Copy(all, after)
	var list []packages.Change
	for _, p := range slices.Sorted(maps.Keys(all)) {
		c := packages.Change{Path: p, Before: content(before, p), After: content(after, p)}
		if (c.Before == nil) != (c.After == nil) || !bytes.Equal(c.Before, c.After) {
			list = append(list, c)
		}
	}
	return list
}

// content returns the content of a file; nil if the file does not exist.
func content(files map[string]string, p string) []byte {
	text, ok := files[p]
	if !ok {
		return nil
	}
	return append([]byte{}, text...)
}
