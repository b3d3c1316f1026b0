// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"cmp"
	"strings"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
)

// severity returns the severity of a result; one that has none is information.
func severity(r *fnresultv1.ResultItem) string { return cmp.Or(string(r.Severity), "info") }

// resultLine words a result as kpt does: [severity] apiVersion/kind/namespace/name field.path: message.
func resultLine(style terminal.Style, r *fnresultv1.ResultItem) string {
	tag := "[" + severity(r) + "]"
	return style.Severity(severity(r), terminal.Safe(tag)) + oneLine(strings.TrimPrefix(r.String(), tag))
}

// subject names what a result is about, in as few words as will do: the resource, or the file where it names none, and the
// field.
func subject(r *fnresultv1.ResultItem) string {
	var parts []string
	if ref := r.ResourceRef; ref != nil && ref.Kind+ref.Name != "" {
		name := ref.Name
		if ref.Namespace != "" {
			name = ref.Namespace + "/" + name
		}
		parts = append(parts, strings.TrimSpace(ref.Kind+" "+name))
	} else if r.File != nil && r.File.Path != "" {
		parts = append(parts, r.File.Path)
	}
	if r.Field != nil && r.Field.Path != "" {
		parts = append(parts, r.Field.Path)
	}
	return oneLine(strings.Join(parts, " "))
}

// oneLine makes text of several lines one, and harmless.
func oneLine(text string) string {
	return terminal.Safe(strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", " "))
}
