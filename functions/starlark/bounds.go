// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package starlark

import (
	"archive/zip"
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
)

// bound returns an error for a call whose result would be too large. It computes the size of the result before there is one.
type bound func(g operatorGuard, receiver starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error

// bounds has the methods, and the members of modules, whose results can be far larger than their arguments. One name may be that of a
// method of several types.
var bounds = map[string]bound{
	"replace":       replaceBound,
	"join":          joinBound,
	"format":        formatBound,
	"split":         splitBound,
	"rsplit":        splitBound,
	"splitlines":    splitBound,
	"sub":           subBound,
	"match":         matchBound,
	"findall":       matchBound,
	"encode":        writtenBound,
	"dumps":         writtenBound,
	"write_all":     writtenBound,
	"encode_indent": indentBound,
	"indent":        indentBound,
	"decode":        parsedBound,
	"loads":         parsedBound,
	"read_all":      parsedBound,
	"parseHtml":     parsedBound,
}

// universeBounds are those of functions that every script has.
var universeBounds = map[string]bound{
	"str": writtenBound, "repr": writtenBound, "print": writtenBound, "fail": writtenBound,
	"list": lengthBound, "tuple": lengthBound, "set": lengthBound, "dict": lengthBound, "reversed": lengthBound, "enumerate": lengthBound,
	"zip": lengthBound,
}

// moduleBounds are those of functions that scripts load under their own names.
var moduleBounds = map[string]bound{"ZipFile": zipBound, "html": parsedBound}

const (
	// elementSize is the size of an element of a list that a call makes, with a text that it has.
	elementSize = 48
	// parsedShare is the part of the memory that a text may have which is parsed into values.
	parsedShare = 32
)

// guarded returns a built-in that checks its bound first. With charged, its result is charged to the script, too.
func (g operatorGuard) guarded(b *starlark.Builtin, check bound, charged bool) *starlark.Builtin {
	wrapped := starlark.NewBuiltin(b.Name(),
		func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			if check != nil {
				if err := check(g, b.Receiver(), args, kwargs); err != nil {
					return nil, err
				}
			}
			result, err := b.CallInternal(thread, args, kwargs)
			if err == nil && charged && g.meter.exceedsWith(size(args)+size(starlark.Tuple{result})) {
				return nil, g.meter.error()
			}
			return result, err
		})
	if b.Receiver() == nil {
		return wrapped
	}
	return wrapped.BindReceiver(b.Receiver())
}

func size(values starlark.Tuple) uint64 {
	total := 0
	for _, value := range values {
		total += sizeOf(value)
	}
	return uint64(total)
}

// within returns an error for a result of so many bytes if that is more than a script may have.
func (g operatorGuard) within(bytes float64) error {
	if bytes > float64(g.limits.memory) {
		return fmt.Errorf("the result takes more than %d MiB of memory, the most a script may", g.limits.memory>>20)
	}
	return nil
}

// texts returns the strings among arguments.
func texts(args starlark.Tuple, kwargs []starlark.Tuple) []string {
	var all []string
	for _, arg := range args {
		if text, ok := starlark.AsString(arg); ok {
			all = append(all, text)
		}
	}
	for _, kwarg := range kwargs {
		if text, ok := starlark.AsString(kwarg[1]); ok {
			all = append(all, text)
		}
	}
	return all
}

func replaceBound(g operatorGuard, receiver starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	in, ok := starlark.AsString(receiver)
	if !ok || len(args) < 2 {
		return nil
	}
	from, _ := starlark.AsString(args[0])
	to, _ := starlark.AsString(args[1])
	return g.within(float64(len(in)) + float64(strings.Count(in, from))*float64(len(to)))
}

func joinBound(g operatorGuard, receiver starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	separator, ok := starlark.AsString(receiver)
	if !ok || len(args) != 1 {
		return nil
	}
	joined, ok := args[0].(starlark.Iterable)
	if !ok {
		return nil
	}
	total := 0.0
	for element := range starlark.Elements(joined) {
		text, _ := starlark.AsString(element)
		total += float64(len(separator) + len(text))
		if err := g.within(total); err != nil {
			return err
		}
	}
	return nil
}

func formatBound(g operatorGuard, receiver starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	format, ok := starlark.AsString(receiver)
	if !ok {
		return nil
	}
	most := uint64(0)
	for _, kwarg := range kwargs {
		args = append(slices.Clip(args), kwarg[1])
	}
	for _, arg := range args {
		w, err := g.written(arg)
		if err != nil {
			return err
		}
		most = max(most, w.bytes)
	}
	return g.within(float64(len(format)) + float64(strings.Count(format, "{"))*float64(most))
}

// splitBound is for strings, and for those that a regular expression splits.
func splitBound(g operatorGuard, receiver starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	in, ok := starlark.AsString(receiver)
	if !ok {
		return matchBound(g, receiver, args, kwargs)
	}
	parts := len(in)/2 + 1
	if len(args) > 0 {
		if separator, ok := starlark.AsString(args[0]); ok && separator != "" {
			parts = strings.Count(in, separator) + 1
		}
	} else if strings.Count(in, "\n") == 0 && len(in) < 1<<20 {
		parts = 0
	}
	return g.within(float64(parts) * elementSize)
}

// subBound is for a replacement by a regular expression. Which of the texts is the replacement, the number of arguments decides; the
// product of the two longest is never less.
func subBound(g operatorGuard, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	longest, next := 1.0, 1.0
	for _, text := range texts(args, kwargs) {
		length := float64(len(text) + 1)
		longest, next = max(longest, length), max(next, min(longest, length))
	}
	return g.within(longest * next)
}

// matchBound is for what a regular expression finds: each match has a text for each of its groups.
func matchBound(g operatorGuard, receiver starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	longest, groups := 0, 1
	for _, text := range texts(args, kwargs) {
		longest = max(longest, len(text)+1)
		groups += strings.Count(text, "(")
	}
	if receiver != nil && receiver.Type() == "regexp" {
		groups = 1 + strings.Count(receiver.String(), "(")
	}
	g.meter.note()
	return g.within(float64(longest) * float64(groups) * elementSize)
}

// writtenBound is for what writes its arguments.
func writtenBound(g operatorGuard, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	total := 0.0
	for _, kwarg := range kwargs {
		args = append(slices.Clip(args), kwarg[1])
	}
	for _, arg := range args {
		w, err := g.written(arg)
		if err != nil {
			return err
		}
		total += float64(w.indented)
	}
	return g.within(total)
}

// indentBound is for JSON with lines: each has a prefix and its indentation.
func indentBound(g operatorGuard, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	if len(args) == 0 {
		return nil
	}
	w, err := g.written(args[0])
	if err != nil {
		return err
	}
	lines, depth := float64(w.values), float64(w.depth)
	if text, ok := starlark.AsString(args[0]); ok {
		lines = float64(strings.Count(text, ",") + strings.Count(text, "[") + strings.Count(text, "{") + 1)
		depth = float64(strings.Count(text, "[") + strings.Count(text, "{"))
	}
	prefix := 1
	for _, text := range texts(nil, kwargs) {
		prefix += len(text)
	}
	return g.within(float64(w.bytes) + 2*lines*min(depth+1, maxDepth)*float64(prefix))
}

// parsedBound is for what parses a text into values, which take many times its size.
func parsedBound(g operatorGuard, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	total := 0.0
	for _, text := range texts(args, kwargs) {
		total += float64(len(text))
	}
	g.meter.note()
	return g.within(total * parsedShare)
}

// lengthBound is for collections made of others.
func lengthBound(g operatorGuard, _ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	total := 0.0
	for _, arg := range args {
		if length := starlark.Len(arg); length > 0 {
			total += float64(length) * elementSize
		}
	}
	return g.within(total)
}

// zipBound is for an archive, all of whose files may be read.
func zipBound(g operatorGuard, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	for _, text := range texts(args, kwargs) {
		archive, err := zip.NewReader(strings.NewReader(text), int64(len(text)))
		if err != nil {
			return nil // the call says so
		}
		total := 0.0
		for _, file := range archive.File {
			total += float64(file.UncompressedSize64)
		}
		if err := g.within(total); err != nil {
			return err
		}
	}
	return nil
}
