// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package functions

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// place is what a result says about where it belongs.
type place struct {
	ref    *fn.ResourceRef
	file   *fn.File
	prefix string // of field paths: where the resource is in the item
}

// report adds an error result. The field is "" for what is wrong with a resource as a whole.
func (c *kubeconformCheck) report(here place, field, message string) {
	result := &fn.Result{Message: message, Severity: fn.Error, ResourceRef: here.ref, File: here.file}
	if path := strings.TrimSuffix(here.prefix+field, "."); path != "" {
		result.Field = &fn.Field{Path: path}
	}
	c.results = append(c.results, result)
}

// fileOf is the file that an item is from, or nil when its annotations do not name one. It reads the annotations that
// kpt sets, and those that older callers set.
func fileOf(item *fn.KubeObject) *fn.File {
	path := cmp.Or(item.PathAnnotation(), item.GetAnnotation("config.kubernetes.io/path"))
	if path == "" {
		return nil
	}
	text := cmp.Or(item.GetAnnotation(fn.IndexAnnotation), item.GetAnnotation("config.kubernetes.io/index"))
	index, _ := strconv.Atoi(text) // 0, the first of the file, where there is none
	return &fn.File{Path: path, Index: max(index, 0)}
}

// staysLocal tells whether a resource is never sent to an API server, by its apiVersion and by its annotation
// config.kubernetes.io/local-config.
func staysLocal(apiVersion, localConfig string) bool {
	group, _, _ := strings.Cut(apiVersion, "/")
	switch group {
	case "kpt.dev", fn.KptFunctionGroup, "kustomize.config.k8s.io":
		return true
	}
	return localConfig != "" && localConfig != "false"
}

// stringAt returns the string at a path of fields, or "" when there is none.
func stringAt(content map[string]any, path ...string) string {
	last := len(path) - 1
	for _, field := range path[:last] {
		content, _ = content[field].(map[string]any)
	}
	text, _ := content[path[last]].(string)
	return text
}
