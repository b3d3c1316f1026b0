// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package origin knows the annotations in which kpt records the file that a resource was read from.
package origin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// File returns the file of a resource from kpt's annotations or their older forms. It is the zero value if there are none.
func File(item *fn.KubeObject) fn.File {
	path := cmp.Or(item.PathAnnotation(), item.GetAnnotation("config.kubernetes.io/path"))
	index, _ := strconv.Atoi(cmp.Or(item.GetAnnotation(fn.IndexAnnotation), item.GetAnnotation("config.kubernetes.io/index")))
	return fn.File{Path: path, Index: index}
}

// Path returns the file path of a resource, for results; nil if it is unknown.
func Path(item *fn.KubeObject) *fn.File {
	if path := File(item).Path; path != "" {
		return &fn.File{Path: path}
	}
	return nil
}

// At returns the first resource from the file at path, or nil.
func At(items fn.KubeObjects, path string) *fn.KubeObject {
	for _, item := range items {
		if path != "" && File(item).Path == path {
			return item
		}
	}
	return nil
}

// Named returns an info result about a resource. message is a format with one %s or %q for the resource's name.
func Named(message string, item *fn.KubeObject) *fn.Result {
	result := fn.GeneralResult(fmt.Sprintf(message, item.GetName()), fn.Info)
	result.File = Path(item)
	return result
}

// IsBookkeeping reports whether an annotation is one in which kpt records the origin of a resource. Functions must not edit
// these: a user who replaces "0" with "1" does not mean the index of every resource in its file.
func IsBookkeeping(annotation string) bool {
	return strings.HasPrefix(annotation, "internal.config.kubernetes.io/") ||
		slices.Contains([]string{
			"config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id",
			"internal.kpt.dev/upstream-identifier",
		}, annotation)
}
