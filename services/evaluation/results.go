// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package evaluation

import (
	"cmp"
	"slices"
	"strings"

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

// ResultsText formats results for display, like the KRM functions SDK: each is "[severity] apiVersion/kind/namespace/name field.path:
// message", without parts that the result lacks. A blank line separates results.
func ResultsText(results []*evaluationv1.Result) string {
	texts := make([]string, 0, len(results))
	for _, r := range results {
		texts = append(texts, ResultText(r))
	}
	return strings.Join(texts, "\n\n")
}

// ResultText formats one result. See ResultsText.
func ResultText(r *evaluationv1.Result) string {
	text := "[" + cmp.Or(r.GetSeverity(), "info") + "]"
	if subject := Subject(r); subject != "" {
		text += " " + subject
	}
	return text + ": " + r.GetMessage()
}

// Subject returns the resource and the field that a result is about, or "" if it names neither.
func Subject(r *evaluationv1.Result) string {
	var parts []string
	if ref := r.GetResourceRef(); ref != nil {
		names := []string{ref.GetApiVersion(), ref.GetKind(), ref.GetNamespace(), ref.GetName()}
		names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
		parts = append(parts, strings.Join(names, "/"))
	}
	if path := r.GetField().GetPath(); path != "" {
		parts = append(parts, path)
	}
	return strings.Join(parts, " ")
}
