// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"cmp"
	"strings"

	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"

	"github.com/krmfn/krmfn/krmfn/internal/terminal"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/render"
)

// exited tells whether a function ended with an exit code that says that it failed. One that could not be started has none,
// and one whose output is of no use has 0.
func exited(e *render.FunctionFinished) bool {
	switch e.Report.GetFailure().GetReason() {
	case evaluationv1.FailureReason_FAILURE_REASON_START, evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_INVALID,
		evaluationv1.FailureReason_FAILURE_REASON_OUTPUT_TOO_LARGE:
		return false
	}
	return e.Function.Ran && e.Function.ExitCode != 0 && !e.Function.Rejected
}

// severity returns the severity of a result; one that has none is information.
func severity(r *fnresultv1.ResultItem) string { return cmp.Or(string(r.Severity), "info") }

// resultLine words a result as kpt does: [severity] apiVersion/kind/namespace/name field.path: message. With files, one that
// names no resource has its file in that place.
func resultLine(style terminal.Style, r *fnresultv1.ResultItem, files bool) string {
	tag := "[" + severity(r) + "]"
	text := strings.TrimPrefix(r.String(), tag)
	if file := fileOf(r); files && file != "" {
		text = " " + file + text
	}
	return style.Severity(severity(r), terminal.Safe(tag)) + strings.TrimRight(oneLine(text), " ")
}

// fileOf returns the file that a result is about; "" where it names a resource, or none.
func fileOf(r *fnresultv1.ResultItem) string {
	if ref := r.ResourceRef; ref != nil && ref.Kind+ref.Name != "" || r.File == nil {
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
