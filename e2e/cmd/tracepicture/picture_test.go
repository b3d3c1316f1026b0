// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/krmfn/krmfn/e2e/generated"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// The picture in the checkout is up to date with the recorded spans.
func TestPicture(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	got, err := draw(root)
	if err != nil {
		t.Fatal(err)
	}
	generated.Check(t, filepath.Join(root, picture), string(got), false, "run go -C e2e run ./cmd/tracepicture")
}

// A call with the current code has the recorded spans, and the documentation names all of them.
func TestSpans(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, spansFile))
	if err != nil {
		t.Fatal(err)
	}
	recorded := &tracepb.TracesData{}
	if err := protojson.Unmarshal(text, recorded); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := binaries.Build(t.Context(), bin, binaries.FunctionRunner, binaries.WrapperServer, binaries.Functions); err != nil {
		t.Fatal(err)
	}
	made, err := record(t.Context(), bin)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(outline(recorded), outline(made)); diff != "" {
		t.Errorf("spans (-recorded +made):\n%s", diff)
	}
	page, err := os.ReadFile(filepath.Join(root, "docs", "tracing.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spansOf(made)[1:] {
		if !strings.Contains(string(page), "`"+s.GetName()+"`") || !strings.Contains(string(page), "`"+s.service+"`") {
			t.Errorf("docs/tracing.md does not name the span %s of %s", s.GetName(), s.service)
		}
	}
}

// outline returns the services and names of spans, indented by depth.
func outline(traces *tracepb.TracesData) []string {
	all := spansOf(traces)
	lines := make([]string, len(all))
	for i, s := range all {
		lines[i] = strings.Repeat(" ", s.depth) + s.service + ": " + s.GetName()
	}
	return lines
}
