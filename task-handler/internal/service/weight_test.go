// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
)

// The weight is the size in bytes, or more if the YAML nodes need more memory.
func TestWeight(t *testing.T) {
	t.Parallel()
	file := func(path, content string) []*taskhandlerv1.File {
		return []*taskhandlerv1.File{{Path: path, Content: []byte(content)}}
	}
	const small = "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: item-12345\ndata:\n  key: value # comment\n  other: \"1\"\n"
	long := strings.Repeat("        image: registry.example.com/shop/backend:v1.27.3\n", 200)
	smallest, longest := file("a.yaml", strings.Repeat(small, 100)), file("a.yaml", long)
	// BenchmarkLiveHeap measures this for such resources.
	least := int64(96 * 100 * len(small) / MemoryPerByte)
	task := &taskhandlerv1.Task{Task: &taskhandlerv1.Task_Upgrade{Upgrade: &taskhandlerv1.FilesTask{Files: longest}}}
	for name, tc := range map[string]struct {
		request    proto.Message
		from, upTo int64
	}{
		"long lines":       {&taskhandlerv1.RenderRequest{Files: longest}, int64(len(long)), int64(len(long)) + 10},
		"small resources":  {&taskhandlerv1.RenderRequest{Files: smallest}, least, 2 * least},
		"JSON in one line": {&taskhandlerv1.RenderRequest{Files: file("a.json", "["+strings.Repeat("1,", 1000)+"1]")}, 1000 * 160 / MemoryPerByte, 1 << 20},
		"not a resource":   {&taskhandlerv1.RenderRequest{Files: file("README.md", strings.Repeat("\n", 1000))}, 1000, 1010},
		"task":             {&taskhandlerv1.ApplyTaskRequest{Task: task, Files: longest}, 2 * int64(len(long)), 2*int64(len(long)) + 20},
		"patch":            {&taskhandlerv1.PatchKptfileRequest{Files: smallest}, least, 2 * least},
		"replace":          {&taskhandlerv1.ReplaceResourcesRequest{Files: longest, Resources: smallest}, int64(len(long)) + least, int64(len(long)) + 2*least},
		"other message":    {&taskhandlerv1.RenderStreamRequest{}, 0, 0},
	} {
		if got := Weight(tc.request); got < tc.from || got > tc.upTo {
			t.Errorf("%s: weight = %d, want %d to %d", name, got, tc.from, tc.upTo)
		}
	}
}
