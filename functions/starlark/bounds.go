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

// bound checks a call before it is executed and returns an error if the result would be too large.
type bound func(g operatorGuard, receiver starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error

// bounds holds the bounds of methods and module members whose result can be far larger than their arguments. A name may be a
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

// universeBounds holds the bounds of predeclared functions.
var universeBounds = map[string]bound{
	"str": writtenBound, "repr": writtenBound, "print": writtenBound, "fail": writtenBound,
	"list": lengthBound, "tuple": lengthBound, "set": lengthBound, "dict": lengthBound, "reversed": lengthBound, "enumerate": lengthBound,
	"zip": lengthBound,
}

// moduleBounds holds the bounds of functions that scripts load by their own name.
var moduleBounds = map[string]bound{"ZipFile": zipBound, "html": parsedBound}

const (
	// elementSize is the approximate size in bytes of a list element that a call creates, including its text.
	elementSize = 48
	// parsedShare is the maximum ratio of a parsed text's memory to its length.
	parsedShare = 32
)

// guarded returns a built-in that first checks a bound. If charged is set, the meter counts its arguments and result.
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

// within returns an error if a result of this size in bytes exceeds the script's memory limit.
func (g operatorGuard) within(bytes float64) error {
	if bytes > float64(g.limits.memory) {
		return fmt.Errorf("the result takes more than %d MiB of memory, which is the limit", g.limits.memory>>20)
	}
	return nil
}

// texts returns the string arguments.
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

// splitBound is the bound of split methods of strings and regular expressions.
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

// subBound is the bound of replacing by a regular expression. The number of arguments determines which one is the replacement.
// The product of the two longest arguments is an upper bound in any case.
func subBound(g operatorGuard, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	longest, next := 1.0, 1.0
	for _, text := range texts(args, kwargs) {
		length := float64(len(text) + 1)
		longest, next = max(longest, length), max(next, min(longest, length))
	}
	return g.within(longest * next)
}

// matchBound is the bound of regular expression matches. Each match has a text for each group.
func matchBound(g operatorGuard, receiver starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	longest, groups := 0, 1
	for _, text := range texts(args, kwargs) {
		longest = max(longest, len(text)+1)
		groups += strings.Count(text, "(")
	}
	if receiver != nil && receiver.Type() == "regexp" {
		groups = 1 + strings.Count(receiver.String(), "(")
	}
	g.meter.recordUnknown()
	return g.within(float64(longest) * float64(groups) * elementSize)
}

// writtenBound is the bound of functions that convert their arguments to text.
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

// indentBound is the bound of indented JSON, where each line has a prefix and indentation.
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

// parsedBound is the bound of functions that parse text into values, which are many times larger.
func parsedBound(g operatorGuard, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	total := 0.0
	for _, text := range texts(args, kwargs) {
		total += float64(len(text))
	}
	g.meter.recordUnknown()
	return g.within(total * parsedShare)
}

// lengthBound is the bound of functions that create collections from collections.
func lengthBound(g operatorGuard, _ starlark.Value, args starlark.Tuple, _ []starlark.Tuple) error {
	total := 0.0
	for _, arg := range args {
		if length := starlark.Len(arg); length > 0 {
			total += float64(length) * elementSize
		}
	}
	return g.within(total)
}

// zipBound is the bound of opening a zip archive: the total size of all its files.
func zipBound(g operatorGuard, _ starlark.Value, args starlark.Tuple, kwargs []starlark.Tuple) error {
	for _, text := range texts(args, kwargs) {
		archive, err := zip.NewReader(strings.NewReader(text), int64(len(text)))
		if err != nil {
			return nil // the call returns the error
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
