// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"

	"google.golang.org/protobuf/proto"

	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/render/packages"
)

// MemoryPerByte is the maximum memory of a render in bytes, for each byte of a request's weight. BenchmarkLiveHeap in package rendering
// measures it.
const MemoryPerByte = 40

const (
	// memoryPerLine is the memory of the YAML nodes of a line in bytes, with a reserve of a quarter.
	memoryPerLine = 750
	// memoryPerResource is the additional memory of a resource in bytes, for example for its path annotations.
	memoryPerResource = 7500
)

// Weight returns the weight of a request in bytes: the size of its files, or more if they are small resources with short lines.
func Weight(request proto.Message) int64 {
	switch r := request.(type) {
	case *taskhandlerv1.RenderRequest:
		return weight(filesOf(r.GetFiles()))
	case *taskhandlerv1.ApplyTaskRequest:
		t := r.GetTask()
		return weight(filesOf(r.GetFiles())) + weight(filesOf(t.GetClone().GetFiles())) + weight(filesOf(t.GetEdit().GetFiles())) +
			weight(filesOf(t.GetUpgrade().GetFiles()))
	case *taskhandlerv1.PatchKptfileRequest:
		return weight(filesOf(r.GetFiles()))
	case *taskhandlerv1.ReplaceResourcesRequest:
		return weight(filesOf(r.GetFiles())) + weight(filesOf(r.GetResources()))
	}
	return 0
}

// weight returns the weight of files.
func weight(files []packages.File) int64 {
	sum := int64(0)
	for _, f := range files {
		size := len(f.Path) + len(f.Content)
		if packages.IsResourceFile(f.Path) {
			// In flow style, a line has many values.
			lines := 1 + bytes.Count(f.Content, []byte("\n")) + bytes.Count(f.Content, []byte(","))
			resources := 1 + bytes.Count(f.Content, []byte("\n---"))
			size = max(size, (memoryPerLine*lines+memoryPerResource*resources)/MemoryPerByte)
		}
		sum += int64(size)
	}
	return sum
}
