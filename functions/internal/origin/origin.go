// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package origin knows from which files of a package resources were read, and the annotations by which kpt remembers it.
package origin

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
)

// File returns where a resource was read from, by kpt's annotations or by those that went before them. It is empty when
// nothing is known.
func File(item *fn.KubeObject) fn.File {
	path := cmp.Or(item.PathAnnotation(), item.GetAnnotation("config.kubernetes.io/path"))
	index, _ := strconv.Atoi(cmp.Or(item.GetAnnotation(fn.IndexAnnotation), item.GetAnnotation("config.kubernetes.io/index")))
	return fn.File{Path: path, Index: index}
}

// Path returns the path of the file that a resource was read from, for results; nil when it is not known.
func Path(item *fn.KubeObject) *fn.File {
	if path := File(item).Path; path != "" {
		return &fn.File{Path: path}
	}
	return nil
}

// At returns the first resource that was read from a file, or nil.
func At(items fn.KubeObjects, path string) *fn.KubeObject {
	for _, item := range items {
		if path != "" && File(item).Path == path {
			return item
		}
	}
	return nil
}

// Named is a result about a resource. message has a verb for its name.
func Named(message string, item *fn.KubeObject) *fn.Result {
	result := fn.GeneralResult(fmt.Sprintf(message, item.GetName()), fn.Info)
	result.File = Path(item)
	return result
}

// IsBookkeeping reports whether an annotation is one by which kpt remembers where a resource comes from and goes to. It is
// not the user's: who replaces "0" by "1" does not mean the index of every resource in its file.
func IsBookkeeping(annotation string) bool {
	return strings.HasPrefix(annotation, "internal.config.kubernetes.io/") ||
		slices.Contains([]string{
			"config.kubernetes.io/path", "config.kubernetes.io/index", "config.k8s.io/id",
			"internal.kpt.dev/upstream-identifier",
		}, annotation)
}
