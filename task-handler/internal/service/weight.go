// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"bytes"

	"google.golang.org/protobuf/proto"

	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/render/packages"
)

// MemoryPerByte is how many bytes of memory a render takes at most for each byte that a request counts for, as nodes of YAML.
// BenchmarkLiveHeap of package rendering measures it.
const MemoryPerByte = 40

// What lines and resources take in memory, in bytes, with a quarter to spare. Resources have annotations of their place beside
// what is in their lines.
const (
	memoryPerLine     = 750
	memoryPerResource = 7500
)

// Weight returns what a request counts for: the bytes of its files, and more where these are resources of few and short lines.
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

func weight(files []packages.File) int64 {
	sum := int64(0)
	for _, f := range files {
		size := len(f.Path) + len(f.Content)
		if packages.IsResourceFile(f.Path) {
			// In flow style a line has many values.
			lines := 1 + bytes.Count(f.Content, []byte("\n")) + bytes.Count(f.Content, []byte(","))
			resources := 1 + bytes.Count(f.Content, []byte("\n---"))
			size = max(size, (memoryPerLine*lines+memoryPerResource*resources)/MemoryPerByte)
		}
		sum += int64(size)
	}
	return sum
}
