// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/krmfn/internal/sandbox/sandboxtest"
)

const checkout = "../../.."

// A function as krmfn creates it passes its tests, and runs as an executable and as an image.
func TestCreateFunction(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	dir := filepath.Join(parent, "add-owner")
	created := krmfn(t, "create", "function", "add-owner", "--output", dir, "--module", "example.org/team/add-owner", "--sdk", checkout).ok(t)
	contains(t, created.out, filepath.Join(dir, "main.go"), filepath.Join(dir, ".github/workflows/ci.yaml"))
	contains(t, created.err, "uses krmfn's Go package in ", "go mod tidy && go test ./...")

	// With the checksums that krmfn has, those of the module need no other source.
	sums, err := os.ReadFile(checkout + "/go.sum")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"mod tidy", "test ./...", "build ."} {
		cmd := exec.CommandContext(t.Context(), "go", strings.Fields(args)...)
		// As an image needs it.
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "CGO_ENABLED=0", "GOFLAGS=-trimpath")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v: %s", args, err, out)
		}
	}

	pkg, image := newPackage(t, nil), "oci:"+filepath.Join(parent, "image")
	contains(t, krmfn(t, "eval", pkg, "--exec", filepath.Join(dir, "add-owner"), "--", "owner=exec").ok(t).err, "the owner is exec")
	built := krmfn(t, "create", "image", filepath.Join(dir, "add-owner"), "--to", image, "--label", "krmfn.dev/worker=true").ok(t)
	if built.out != image+"\n" {
		t.Errorf("printed %q, want %q", built.out, image)
	}
	environ := []string{"KRMFN_CACHE_DIR=" + t.TempDir(), "KRMFN_RUNTIME=sandbox"}
	ran := invocation{args: []string{"eval", pkg, "--image", image, "--", "owner=image"}, environ: environ}.run(t.Context(), t)
	if strings.Contains(ran.err, "the sandbox cannot run here") {
		sandboxtest.SkipRefused(t, ran.err)
	}
	contains(t, ran.ok(t).err, "the owner is image")
}

func TestCreateErrors(t *testing.T) {
	t.Parallel()
	full := newPackage(t, nil)
	noCheckout := full + "/none --sdk " + full
	for args, want := range map[string]string{
		"function":                                        "accepts 1 arg(s), received 0",
		"function Add":                                    `function name "Add" must be up to 63 lower case letters`,
		"function add --module a//b":                      "--module: malformed import path",
		"function add --output " + full:                   "is not empty: name another with --output",
		"function add --output " + full + "/none":         "name a checkout of krmfn with --sdk",
		"function add --output " + noCheckout:             "is not a checkout of krmfn",
		"image":                                           "the destination is missing: set --to to",
		"image --to oci:x --label krmfn.dev/worker=yes":   `label krmfn.dev/worker is "yes", want true or false`,
		"image --to oci:x --platform windows/amd64":       "want linux/ARCHITECTURE",
		"image --to oci:x --base A":                       `base image "A" is invalid`,
		"image --to A/B":                                  "neither oci:DIR nor docker-archive:FILE",
		"image --to oci:x " + full + " " + full:           "name one directory, or only programs",
		"image --to oci:x " + full + "/none":              "no such file",
		"image --to oci:x --platform linux/amd64 /bin/sh": "programs are already built for a platform",
		"image --to oci:x /bin/sh /bin/sh":                "name one program for each platform",
		"image --to oci:x /bin/sh":                        "build it with CGO_ENABLED=0, or set a base image",
	} {
		got := krmfn(t, append([]string{"create"}, strings.Fields(args)...)...)
		if got.code == 0 {
			t.Errorf("%s: exit code 0", args)
		}
		contains(t, got.err, want)
	}
}
