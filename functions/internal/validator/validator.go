// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package validator has what the validators share: which resources they look at, and what their results say about those.
package validator

import (
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/origin"
)

// Subject is what results are about.
type Subject struct {
	Ref  *fn.ResourceRef
	File *fn.File // nil when it is not known
}

// SubjectOf tells which resource an item is, and where it is from.
func SubjectOf(item *fn.KubeObject) Subject {
	s := Subject{Ref: &fn.ResourceRef{
		APIVersion: item.GetAPIVersion(), Kind: item.GetKind(), Name: item.GetName(), Namespace: item.GetNamespace(),
	}}
	if file := origin.File(item); file.Path != "" {
		file.Index = max(file.Index, 0) // the first of the file, where there is none
		s.File = &file
	}
	return s
}

// Result is a result about the subject. The field is "" for what is wrong with the resource as a whole.
func (s Subject) Result(severity fn.Severity, field, message string) *fn.Result {
	result := &fn.Result{Message: message, Severity: severity, ResourceRef: s.Ref, File: s.File}
	if field != "" {
		result.Field = &fn.Field{Path: field}
	}
	return result
}

// StaysLocal tells whether a resource is never sent to an API server, by its apiVersion and by its annotation
// config.kubernetes.io/local-config.
func StaysLocal(apiVersion, localConfig string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	switch group {
	case "kpt.dev", fn.KptFunctionGroup, "kustomize.config.k8s.io":
		return true
	}
	return localConfig != "" && localConfig != "false"
}

// Text returns the string at a path of fields of a resource's content, or "" when there is none.
func Text(content map[string]any, path ...string) string {
	last := len(path) - 1
	for _, field := range path[:last] {
		content, _ = content[field].(map[string]any)
	}
	text, _ := content[path[last]].(string)
	return text
}
