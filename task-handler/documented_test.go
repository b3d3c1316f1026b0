// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/testing/protocmp"

	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
)

// The documented request gets the documented response, and the documented code is in the example.
func TestDocumentation(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/controllers.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(json|go)\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 3 {
		t.Fatalf("the page has %d blocks of JSON and Go, want 3", len(blocks))
	}
	req, want := &taskhandlerv1.ReplaceResourcesRequest{}, &taskhandlerv1.ReplaceResourcesResponse{}
	if err := protojson.Unmarshal(blocks[0][2], req); err != nil {
		t.Fatal(err)
	}
	if err := protojson.Unmarshal(blocks[1][2], want); err != nil {
		t.Fatal(err)
	}
	got, err := client(t, nil).ReplaceResources(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, protocmp.Transform(), protocmp.IgnoreFields(&taskhandlerv1.Function{}, "duration")); diff != "" {
		t.Errorf("response (-page +got):\n%s\nresponse:\n%s", diff, protojson.Format(got))
	}
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(example), string(blocks[2][2])) {
		t.Error("the code in the page is not in example_test.go")
	}
}
