// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package validator has the common parts of validators: which resources they check, and results about resources.
package validator

import (
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/origin"
)

// Subject identifies the resource that a result is about.
type Subject struct {
	Ref  *fn.ResourceRef
	File *fn.File // nil if unknown
}

// SubjectOf returns the subject for an item.
func SubjectOf(item *fn.KubeObject) Subject {
	s := Subject{Ref: &fn.ResourceRef{
		APIVersion: item.GetAPIVersion(), Kind: item.GetKind(), Name: item.GetName(), Namespace: item.GetNamespace(),
	}}
	if file := origin.File(item); file.Path != "" {
		file.Index = max(file.Index, 0) // without an index, assume the file's first resource
		s.File = &file
	}
	return s
}

// Result returns a result about the subject. field is "" if the result is about the whole resource.
func (s Subject) Result(severity fn.Severity, field, message string) *fn.Result {
	result := &fn.Result{Message: message, Severity: severity, ResourceRef: s.Ref, File: s.File}
	if field != "" {
		result.Field = &fn.Field{Path: field}
	}
	return result
}

// StaysLocal reports whether a resource is never sent to an API server, judging by its apiVersion and its annotation
// config.kubernetes.io/local-config.
func StaysLocal(apiVersion, localConfig string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	switch group {
	case "kpt.dev", fn.KptFunctionGroup, "kustomize.config.k8s.io":
		return true
	}
	return localConfig != "" && localConfig != "false"
}

// Text returns the string at a path of fields, or "".
func Text(content map[string]any, path ...string) string {
	last := len(path) - 1
	for _, field := range path[:last] {
		content, _ = content[field].(map[string]any)
	}
	text, _ := content[path[last]].(string)
	return text
}
