// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"cmp"
	"strings"
	"unicode/utf8"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/renderstatus"
)

func exited(e *render.FunctionFinished) bool {
	return e.Function.Ran && e.Function.ExitCode != 0 && !e.Function.Rejected && renderstatus.Exited(e.Report.GetFailure().GetReason())
}

// severity returns the severity of a result; one that has none is information.
func severity(r *fnresultv1.ResultItem) string { return cmp.Or(string(r.Severity), "info") }

// resultLine words a result as kpt does: [severity] apiVersion/kind/namespace/name field.path: message. With files, the file
// follows, (path/file.yaml), which kpt leaves out.
func resultLine(style terminal.Style, r *fnresultv1.ResultItem, files bool) string {
	tag := "[" + severity(r) + "]"
	text := strings.TrimRight(oneLine(strings.TrimPrefix(r.String(), tag)), " ")
	if file := fileOf(r); files && file != "" {
		text += " (" + oneLine(file) + ")"
	}
	return style.Severity(severity(r), terminal.Safe(tag)) + text
}

// fileOf returns the file that a result is about; "" where it names none.
func fileOf(r *fnresultv1.ResultItem) string {
	if r.File == nil {
		return ""
	}
	return r.File.Path
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
	} else if file := fileOf(r); file != "" {
		parts = append(parts, file)
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

// shortTitle is what a function is called where there is little room: its name and tag.
func shortTitle(f *renderstatus.Function) string {
	return terminal.Safe(ShortImage(f.Title()))
}

// ShortImage returns an image without the prefix of the catalog.
func ShortImage(ref string) string {
	for _, prefix := range []string{reference.CatalogPrefix, reference.FormerCatalogPrefix} {
		if name, ok := strings.CutPrefix(ref, prefix+"/"); ok {
			return name
		}
	}
	return ref
}

// FitTitle returns what cuts the title of a function to a number of columns: an image keeps its name and tag, a command
// line its beginning and end.
func FitTitle(f *renderstatus.Function) func(title string, columns int) string {
	if f.Image != "" {
		return fitImage
	}
	return terminal.FitMiddle
}

// fitImage cuts an image in front of its name. Where the name itself has no room, it cuts the digest, or between the name's
// beginning and the tag.
func fitImage(ref string, columns int) string {
	over := utf8.RuneCountInString(ref) - columns
	if over <= 0 {
		return ref
	}
	name := ref[strings.LastIndex(ref, "/")+1:]
	switch {
	case utf8.RuneCountInString(name) < columns:
		return "…" + string([]rune(ref)[over+1:])
	case strings.Contains(name, "@"):
		return terminal.Fit(name, columns)
	default:
		return terminal.FitMiddle(name, columns)
	}
}
