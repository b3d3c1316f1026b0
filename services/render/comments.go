// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import "sigs.k8s.io/kustomize/kyaml/yaml"

// RestoreComments brings the comments of a resource back to what has been made of it, where they belong to fields that are
// still there and have no comment of their own. It tells whether there were any. Without a resource before there are none.
func RestoreComments(from, to *yaml.RNode) bool {
	if from == nil {
		return false
	}
	before := to.Copy()
	return restoreComments(from, to) == nil &&
		(!sameComments(before.Document(), to.Document()) || !same(before.YNode(), to.YNode()))
}
