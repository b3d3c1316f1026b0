// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"io"
	"log" //nolint:depguard // the registry's library logs with it
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/e2e/registry/publish"
	"github.com/krmfn/krmfn/internal/process/programtest"
)

func serve(t *testing.T) (address string) {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// references returns the images' references without the address, which differs between runs.
func references(images []publish.Image, address string) []string {
	refs := make([]string, 0, len(images))
	for _, image := range images {
		refs = append(refs, strings.TrimPrefix(image.Reference, address))
	}
	return refs
}

func TestLayoutsPushesBothTags(t *testing.T) {
	t.Parallel()
	address, dir := serve(t), t.TempDir()
	path, err := layout.Write(filepath.Join(dir, "runner"), empty.Index)
	if err != nil {
		t.Fatal(err)
	}
	index, err := random.Index(100, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	annotations := layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": "v1"})
	if err := path.AppendIndex(index, annotations); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "runner-amd64.tar"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	pushed, err := publish.Layouts(t.Context(), dir, address+"/krmfn")
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"/krmfn/runner:v1", "/krmfn/runner:e2e"}
	if diff := cmp.Diff(want, references(pushed, address)); diff != "" {
		t.Errorf("pushed images (-want +got):\n%s", diff)
	}
	for _, image := range pushed {
		ref, err := name.ParseReference(image.Reference)
		if err != nil {
			t.Fatal(err)
		}
		head, err := remote.Head(ref, remote.WithContext(t.Context()))
		if err != nil || head.Digest != image.Digest {
			t.Errorf("Head(%s) = %v, %v, want digest %s", image.Reference, head, err, image.Digest)
		}
	}
}

func TestFunctions(t *testing.T) {
	t.Parallel()
	address, bin := serve(t), t.TempDir()
	// The script lists each function under two prefixes, like the catalog.
	const light = "- {function: a, images: ['x/a:v1.0', 'x/a:v1', 'y/a:v1.0', 'y/a:v1'], worker: true}"
	for program, functions := range map[string]string{
		"functions":       light + "\n- {function: heavy, images: ['localhost:5000/x/heavy:v2']}",
		"functions-light": light,
	} {
		script := "#!/bin/sh\n# " + program + "\ncat <<'EOF'\nfunctions:\n" + functions + "\nEOF\n"
		programtest.Write(t, filepath.Join(bin, program), script)
	}
	pushed, err := publish.Functions(t.Context(), bin, address)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/a:v1", "/a:v1.0", "/heavy:v2"}, references(pushed, address)); diff != "" {
		t.Errorf("pushed images (-want +got):\n%s", diff)
	}
	ref, err := name.ParseReference(address + "/a:v1")
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	file, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/function", "a"}, file.Config.Entrypoint); diff != "" {
		t.Errorf("entrypoint (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]string{"krmfn.dev/worker": "true", "krmfn.dev/deterministic": "false"}, file.Config.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}
