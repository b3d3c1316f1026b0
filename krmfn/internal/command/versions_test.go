// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/report"
)

const (
	otherVersion = "set-labels:v9.9.9 is evaluated by v0.2.0"
	itemOfStatus = "          - message: " + otherVersion + "\n            severity: warning\n"
)

// withLabels is a Kptfile in which two functions have the image given.
func withLabels(image string) map[string]string {
	one := "    - image: " + image + "\n      configMap:\n        app: web\n"
	return map[string]string{"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n" + one + one}
}

// A tag that is not the implementation's own runs, and every mode says once what ran instead.
func TestOtherVersionIsTold(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args  []string
		width int
		wrote bool
	}{
		"text":     {wrote: true},
		"verbose":  {args: []string{"--verbose"}, wrote: true},
		"terminal": {width: 120, wrote: true},
		"quiet":    {args: []string{"--quiet"}, wrote: true},
		"json":     {args: []string{"--format=json"}, wrote: true},
		"dry run":  {args: []string{"--dry-run"}},
		"stdout":   {args: []string{"-o", "stdout"}},
		"unwrap":   {args: []string{"-o", "unwrap", "-q"}},
		"isolated": {args: []string{"--isolate"}, wrote: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, results := newPackage(t, withLabels("set-labels:v9.9.9")), t.TempDir()
			args := append([]string{"render", dir, "--results-dir", results}, tc.args...)
			got := invocation{args: args, width: tc.width}.run(t.Context(), t).ok(t)
			if n := strings.Count(got.err, "[WARN] "+otherVersion+"\n"); n != 1 && tc.width == 0 || strings.Count(got.err, otherVersion) != 1 {
				t.Errorf("the standard error says it %d times:\n%s", n, got.err)
			}
			content, err := os.ReadFile(filepath.Join(results, "results.yaml"))
			if err != nil || strings.Count(string(content), "      - message: "+otherVersion+"\n        severity: warning\n") != 2 {
				t.Errorf("results.yaml, %v:\n%s", err, content)
			}
			if status := snapshot(t, dir)["Kptfile"]; tc.wrote != (strings.Count(status, itemOfStatus) == 2) {
				t.Errorf("the status is\n%s", status)
			}
			if name != "json" {
				return
			}
			var doc report.Document
			if err := json.Unmarshal([]byte(got.out), &doc); err != nil {
				t.Fatal(err)
			}
			if f := doc.Functions[1]; f.Warning != otherVersion || !strings.HasPrefix(f.Implementation, "set-labels v0.2.0") {
				t.Errorf("the function in the document is %+v", f)
			}
		})
	}
	t.Run("eval", func(t *testing.T) {
		t.Parallel()
		dir := newPackage(t, nil)
		for _, args := range [][]string{{dir}, {dir, "-q"}, {dir, "-o", "unwrap", "-q"}, {"-"}, {dir, "--format=json"}, {dir, "--isolate"}} {
			args = append(append([]string{"eval", "-i", "set-labels:v9.9.9"}, args...), "--", "app=web")
			got := invocation{args: args, stdin: service}.run(t.Context(), t).ok(t)
			if strings.Count(got.err, "[WARN] "+otherVersion+"\n") != 1 {
				t.Errorf("%v: standard error:\n%s", args, got.err)
			}
		}
	})
	t.Run("failure", func(t *testing.T) {
		t.Parallel()
		dir := newPackage(t, map[string]string{"Kptfile": strings.ReplaceAll(kptfile, "kubeconform:v0.1", "kubeconform:v9"), "net/service.yaml": service + "  type: 5\n"})
		got := krmfn(t, "render", dir, "-q")
		contains(t, got.err, "[WARN] kubeconform:v9 is evaluated by v0.1.")
		if got.code != failure.Failed {
			t.Errorf("exit code %d", got.code)
		}
	})
}

// A tag that names no version is told in the standard error only: results and status are kpt's.
func TestTagWithoutVersionIsTold(t *testing.T) {
	t.Parallel()
	dir, results := newPackage(t, withLabels("set-labels")), t.TempDir()
	got := krmfn(t, "render", dir, "--results-dir", results).ok(t)
	contains(t, got.err, "[WARN] set-labels:latest is evaluated by v0.2.0\n")
	content, err := os.ReadFile(filepath.Join(results, "results.yaml"))
	if err != nil || strings.Contains(string(content)+snapshot(t, dir)["Kptfile"], "is evaluated by") {
		t.Errorf("%v, %s", err, content)
	}
	for _, image := range []string{"set-labels", "set-labels:v0.2", "set-labels:v0.2.0"} {
		if got := krmfn(t, "eval", dir, "-i", image, "--", "app=web").ok(t); strings.Contains(got.err, "WARN") {
			t.Errorf("%s: standard error:\n%s", image, got.err)
		}
	}
}

// Another function that stands in for the one that was asked for is named.
func TestOtherFunctionIsTold(t *testing.T) {
	t.Parallel()
	for _, isolate := range []string{"--isolate=false", "--isolate"} {
		dir := newPackage(t, map[string]string{"Kptfile": strings.ReplaceAll(kptfile, "kubeconform:v0.1", "kubeval:v0.3.0")})
		got := krmfn(t, "render", dir, isolate, "--verbose").ok(t)
		contains(t, timeless(got.err), " kubeconform VERSION (curated) ")
	}
}

// A digest names the bytes of an image, which nothing in the program has.
func TestDigestIsNotEvaluated(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("ab", 32)
	for _, image := range []string{"set-labels" + digest, prefix + "set-labels:v0.2.0" + digest} {
		for _, flag := range []string{"--strict-versions=false", "--strict-versions", "--isolate"} {
			dir := newPackage(t, withLabels(image))
			before := snapshot(t, dir)
			got := krmfn(t, "render", dir, flag)
			unchanged(t, dir, before, "Kptfile")
			if got.code != failure.Failed {
				t.Errorf("%s with %s: exit code %d", image, flag, got.code)
			}
			contains(t, got.err, digest+`" not found: a digest names one image, and set-labels v0.2.0 in krmfn is none: name a tag, or a function runner with --runner`)
		}
	}
}

// Without a registry, constraints mean what the catalog has, not only what is implemented.
func TestConstraintWithoutRegistry(t *testing.T) {
	t.Parallel()
	server, address := tagRegistry(t, "")
	server.Close()
	for constraint, want := range map[string]string{
		"~0.2": "v0.2.5", ">=0.2.1 <0.2.4": "v0.2.3", "0.2.x": "v0.2.5", "<0.2": "v0.1.5", "<=0.2.0 >0.1": "v0.2.0",
	} {
		dir := newPackage(t, constrained(constraint))
		got := krmfn(t, "render", dir, "--default-image-prefix", address+"/fn").ok(t)
		contains(t, got.err, address+"/fn/set-labels:"+want)
		if warned := strings.Contains(got.err, "[WARN] set-labels:"+want+" is evaluated by v0.2.0\n"); warned != (want != "v0.2.0") {
			t.Errorf("%s: standard error:\n%s", constraint, got.err)
		}
	}
	// Only what is implemented may run: it is all that there is to choose from.
	strict := func(constraint string) outcome {
		return krmfn(t, "render", newPackage(t, constrained(constraint)), "--default-image-prefix", address+"/fn", "--strict-versions")
	}
	contains(t, strict("~0.2").ok(t).err, address+"/fn/set-labels:v0.2.0")
	contains(t, strict("~0.2.1").err, "is a version constraint, and the tags cannot be listed")
}
