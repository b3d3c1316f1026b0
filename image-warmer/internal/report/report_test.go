// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
)

func example() report.Report {
	r := report.Report{
		Images: []report.Image{
			{Image: "r.io/a:v1", Digest: "sha256:0123456789abcdef", Metadata: report.Resolved, Seconds: 2.34, Nodes: []report.Node{
				{Node: "n1", Result: report.Pulled, Seconds: 2}, {Node: "n2", Result: report.Skipped, Reason: "the node is cordoned"},
			}},
			{Image: "r.io/b:v1", Digest: "sha256:fedcba9876543210", Metadata: report.Kept},
			{Image: "r.io/long/c:v1", Metadata: report.Failed, Nodes: []report.Node{
				{Node: "n1", Result: report.Failed, Reason: "ErrImagePull"},
				{Node: "n2", Result: report.Skipped, Reason: "the node is cordoned"},
				{Node: "n3", Result: report.Present},
			}},
		},
		Metadata: &report.Metadata{Target: "ConfigMap ns/m", Action: "updated", Kept: []string{"r.io/b:v1"}, Dropped: []string{"x", "y"}},
		Notes:    []string{"something"}, Seconds: 3,
	}
	r.Fail("r.io/b:v1", "", errors.New("no\nway"))
	r.Fail("r.io/long/c:v1", "n1", errors.New("ErrImagePull"))
	r.Fail("", "", errors.New("all is lost"))
	return r
}

func TestTable(t *testing.T) {
	t.Parallel()
	want := `IMAGE           DIGEST        METADATA  PULLED  PRESENT  SKIPPED  FAILED  TIME
r.io/a:v1       0123456789ab  resolved  1       0        1        0       2.3s
r.io/b:v1       fedcba987654  kept      -       -        -        -       0s
r.io/long/c:v1  -             failed    0       1        1        1       0s
metadata: ConfigMap ns/m updated, kept from earlier runs: r.io/b:v1, dropped: x y
note: something
skipped: n2: the node is cordoned (images: 2)
failed: r.io/b:v1: no way
failed: r.io/long/c:v1 on n1: ErrImagePull
failed: all is lost
`
	r := example()
	var got bytes.Buffer
	if err := r.WriteTable(&got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	r.DryRun = true
	got.Reset()
	if err := r.WriteTable(&got); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TO PULL", "would be updated"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("report of a dry run has no %q:\n%s", want, &got)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	want := example()
	var text bytes.Buffer
	if err := want.WriteJSON(&text); err != nil {
		t.Fatal(err)
	}
	var got report.Report
	if err := json.Unmarshal(text.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
	text.Reset()
	if err := new(report.Report).WriteJSON(&text); err != nil || !strings.Contains(text.String(), `"failures": []`) || !strings.Contains(text.String(), `"images": []`) {
		t.Errorf("empty report: error = %v, text:\n%s", err, &text)
	}
}
