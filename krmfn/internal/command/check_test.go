// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/report"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	before := snapshot(t, dir)
	stale := krmfn(t, "render", dir, "--check")
	if stale.code != failure.WouldChange {
		t.Errorf("exit code %d", stale.code)
	}
	if diff := cmp.Diff(filepath.Join(dir, "net/service.yaml")+"\n"+filepath.Join(dir, "web.yaml")+"\n", stale.out); diff != "" {
		t.Errorf("standard output (-want +got):\n%s", diff)
	}
	contains(t, stale.err, "error: "+dir+" is not up to date: a render would change 2 files: run krmfn render "+dir+"\n")
	shown := krmfn(t, "render", dir, "--check", "--dry-run", "-q")
	if shown.code != failure.WouldChange || !strings.HasPrefix(shown.out, "--- a/net/service.yaml\n") {
		t.Errorf("with --dry-run: exit code %d and %q", shown.code, shown.out)
	}
	unchanged(t, dir, before)

	// The status that the render writes is no change, neither as it is written nor as another render would write it.
	krmfn(t, "render", dir).ok(t)
	before = snapshot(t, dir)
	fresh := krmfn(t, "render", dir, "--check").ok(t)
	if fresh.out != "" {
		t.Errorf("files that would change after a render: %q", fresh.out)
	}
	contains(t, fresh.err, "\n"+dir+" is up to date.\n")
	unchanged(t, dir, before)
}

func TestCheckJSON(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	for _, want := range []int{failure.WouldChange, failure.OK} {
		got := krmfn(t, "render", dir, "--check", "--format=json")
		var doc report.Document
		if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
			t.Fatalf("%v in\n%s", err, got.out)
		}
		if got.code != want || doc.Written || (len(doc.ChangedFiles) > 0) != (want != failure.OK) {
			t.Errorf("got exit code %d, written %v, changed %v; want exit code %d", got.code, doc.Written, doc.ChangedFiles, want)
		}
		krmfn(t, "render", dir).ok(t)
	}
}

// A render that fails says nothing about what it would change.
func TestCheckOfFailure(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, map[string]string{"net/service.yaml": service + "  type: 5\n"})
	before := snapshot(t, dir)
	if got := krmfn(t, "render", dir, "--check"); got.code != failure.Failed || got.out != "" {
		t.Errorf("got exit code %d and %q", got.code, got.out)
	}
	unchanged(t, dir, before)
}

func TestNoStatus(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	krmfn(t, "render", dir, "--no-status").ok(t)
	if diff := cmp.Diff(rendered(), snapshot(t, dir)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A failure leaves all as it is, and a status from before stays.
	krmfn(t, "render", dir).ok(t)
	if err := os.WriteFile(filepath.Join(dir, "net/service.yaml"), []byte(service+"  type: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, dir)
	if got := krmfn(t, "render", dir, "--no-status"); got.code != failure.Failed {
		t.Errorf("exit code %d", got.code)
	}
	unchanged(t, dir, before)
}
