// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked/imagetest"
	"github.com/krmfn/krmfn/krmfn/internal/sandbox/sandboxtest"
)

// functionImage returns an image of a function that is none of krmfn's own, as oci:DIR.
func functionImage(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fn")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", file, "./testdata/echo")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	config := v1.ConfigFile{Config: v1.Config{Entrypoint: []string{"/fn"}, Env: []string{"GREETING=hello"}, User: "65532"}}
	return imagetest.Layout(t, imagetest.Image(t, config, []imagetest.Entry{{Name: "fn", Content: content}}))
}

func TestSandbox(t *testing.T) {
	t.Parallel()
	ref := functionImage(t)
	environ := []string{"KRMFN_CACHE_DIR=" + t.TempDir(), "KRMFN_RUNTIME=builtin,sandbox"}
	run := func(args ...string) outcome {
		t.Helper()
		return invocation{args: args, environ: environ}.run(t.Context(), t)
	}
	dir := newPackage(t, nil)
	got := run("eval", dir, "--image", ref, "-v")
	if strings.Contains(got.err, "the sandbox cannot run here") {
		sandboxtest.SkipRefused(t, got.err)
	}
	got.ok(t)
	contains(t, got.err, "hello as 65532", "sandbox sha256:")
	contains(t, run("eval", dir, "--image", ref, "--runtime", "sandbox").ok(t).err, ref)

	// Curated functions and others stand in one pipeline.
	kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n  mutators:\n  - image: " + ref + "\n  - image: set-labels:v0.2\n    configMap: {a: b}\n"
	if err := os.WriteFile(filepath.Join(dir, "Kptfile"), []byte(kptfile), 0o644); err != nil {
		t.Fatal(err)
	}
	contains(t, run("render", dir, "-v").ok(t).err, "hello as 65532", "sandbox sha256:", "(curated)")

	contains(t, run("cache", "prune", "--unused", "1h").ok(t).out, "0 images removed")
	contains(t, run("cache", "prune").ok(t).out, "1 images removed")

	missing := run("eval", dir, "--image", "oci:"+dir, "--runtime", "builtin,sandbox")
	if missing.code != failure.Failed {
		t.Errorf("exit code %d", missing.code)
	}
	contains(t, missing.err, "read the OCI layout")
}

func TestRuntimeFlag(t *testing.T) {
	t.Parallel()
	dir := newPackage(t, nil)
	for args, want := range map[string]string{
		"--runtime wasm":                         `--runtime is "wasm", want a list of builtin, runner, engine, docker, podman, nerdctl and sandbox`,
		"--runtime builtin,builtin":              "--runtime names builtin twice",
		"--runtime runner":                       "give its address with --runner",
		"--runtime builtin --runner localhost:1": "--runtime leaves out the function runner",
		"--runtime sandbox --isolate":            "--isolate applies only to the curated functions",
		"--runtime sandbox":                      "there is no directory for the cache of images: set $KRMFN_CACHE_DIR or $HOME",
	} {
		got := krmfn(t, append([]string{"render", dir}, strings.Fields(args)...)...)
		if got.code != failure.Failed {
			t.Errorf("%s: exit code %d", args, got.code)
		}
		contains(t, got.err, want)
	}
	contains(t, krmfn(t, "render", dir, "--runtime", "builtin").ok(t).err, "set-labels")
}
