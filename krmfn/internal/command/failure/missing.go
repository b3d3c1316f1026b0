// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"slices"
	"strings"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/services/images/reference"
)

// elsewhere are the functions of the catalog that krmfn does not have, sorted. They run from their images.
var elsewhere = []string{
	"annotate-apply-time-mutations", "bind", "drop-comments", "enable-gcp-services", "export-terraform",
	"generate-folders", "helm-template", "inflate-helm-chart", "istioctl-analyze", "kustomize-build",
	"sops", "validate-rolebinding",
}

// adviseOnMissing says what to do about a function that is not found.
func adviseOnMissing(image string) string {
	const list = "see `krmfn functions` for what there is, or name a function runner that has it with --runner"
	if name := reference.CatalogName(image); slices.Contains(elsewhere, name) {
		return "krmfn does not have the catalog's " + name +
			": run its image with a container engine or in a sandbox (--runtime builtin,engine,sandbox), with a function runner that starts pods (--runner), or with kpt"
	}
	if near := SimilarFunctions(image); near != "" {
		return "did you mean " + near + "? Otherwise " + list
	}
	return list
}

// SimilarFunctions returns the names of the curated functions that an image may have been meant for; see Similar. It is "" for an
// image that has the name of one.
func SimilarFunctions(image string) string {
	repository, _, _ := reference.Split(image)
	name := repository[strings.LastIndexByte(repository, '/')+1:]
	if _, ok := functions.Lookup(name); ok {
		return ""
	}
	all := functions.All()
	names := make([]string, 0, len(all))
	for _, f := range all {
		names = append(names, f.Name)
	}
	return Similar(name, names)
}
