// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package function

import "fmt"

// Memory lists the functions whose memory is measured, with their functionConfigs. The light executable has all of them.
var Memory = []struct{ Name, Config string }{
	{"set-labels", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {tier: backend}}"},
	{"set-namespace", "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {namespace: new}}"},
	{"starlark", "{apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, metadata: {name: s}, source: 'for r in ctx.resource_list[\"items\"]: r[\"metadata\"][\"namespace\"] = \"new\"'}"},
	{"apply-replacements", "{apiVersion: fn.kpt.dev/v1alpha1, kind: ApplyReplacements, metadata: {name: r}, replacements: [{source: {kind: Deployment, name: app-1, fieldPath: metadata.name}, targets: [{select: {kind: Deployment}, fieldPaths: [metadata.labels.x], options: {create: true}}]}]}"},
}

// MemorySizes holds the sizes of the lists in MiB. 0 is a few resources.
var MemorySizes = []int{0, 1, 6, 20}

// MemoryRow returns the name of the row with the peak memory of a function's process.
func MemoryRow(name string, size int, limited bool) string {
	row := fmt.Sprintf("process memory, %s, %d MiB", name, size)
	if limited {
		row += ", limited"
	}
	return row
}
