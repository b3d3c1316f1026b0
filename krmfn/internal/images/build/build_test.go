// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"io"
	"log" //nolint:depguard // go-containerregistry's test registry needs a log.Logger
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/krmfn/krmfn/internal/images/ociimage"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/traits"
	"github.com/krmfn/krmfn/krmfn/internal/images/build"
)

// compiled returns a small program for this machine.
func compiled(t *testing.T) build.Program {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "add-owner")
	write(t, filepath.Join(dir, "go.mod"), "module example.com/add-owner\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "main.go"), "package main\n\nfunc main() {}\n")
	program, err := build.Compile(t.Context(), dir, v1.Platform{OS: "linux", Architecture: runtime.GOARCH})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func imageOf(t *testing.T, program build.Program, o build.Options) v1.Image {
	t.Helper()
	image, err := build.Image(program, o)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func destination(t *testing.T, text string) build.Destination {
	t.Helper()
	to, err := build.ParseDestination(text)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// Equal programs give equal images. The image contains what function runners read.
func TestPush(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	program := compiled(t)
	if program.Name != "add-owner" || program.Interpreter != "" || program.Platform.Architecture != runtime.GOARCH {
		t.Errorf("Compile() = name %s, platform %s, interpreter %q", program.Name, program.Platform, program.Interpreter)
	}
	o := build.Options{Labels: map[string]string{traits.WorkerLabel: "true", "team": "shop"}}
	ref := strings.TrimPrefix(server.URL, "http://") + "/team/add-owner:v0.1.0"
	other := program
	other.Platform.Architecture = "other"
	first, err := destination(t, ref).Write(t.Context(), []v1.Image{imageOf(t, program, o), imageOf(t, other, o)})
	if err != nil {
		t.Fatal(err)
	}
	second, err := destination(t, ref).Write(t.Context(), []v1.Image{imageOf(t, compiled(t), o), imageOf(t, other, o)})
	if err != nil || first != second {
		t.Errorf("Write() of a second build = %s, error %v; want %s", second, err, first)
	}
	client := registry.NewClient(registry.Options{})
	t.Cleanup(client.Close)
	digest, err := client.Digest(t.Context(), ref)
	if err != nil || ref+"@"+digest != first {
		t.Errorf("Digest() = %s, error %v; want %s", digest, err, first)
	}
	got, err := client.Image(t.Context(), ref, digest)
	if err != nil {
		t.Fatal(err)
	}
	want := registry.Image{
		Reference: ref, Digest: digest, Command: []string{"/add-owner"}, User: "65534:65534",
		Platforms: []string{"linux/" + runtime.GOARCH, "linux/other"}, Traits: traits.Traits{Worker: true},
	}
	slices.Sort(got.Platforms)
	slices.Sort(want.Platforms)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// The image can be the base of another one.
	base, err := build.Pulled(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	above := imageOf(t, program, build.Options{Base: base, Labels: map[string]string{traits.WorkerLabel: "false"}})
	config, err := above.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if len(config.RootFS.DiffIDs) != 2 || config.Config.Labels["team"] != "shop" || config.Config.Labels[traits.WorkerLabel] != "false" {
		t.Errorf("image has %d layers and labels %v", len(config.RootFS.DiffIDs), config.Config.Labels)
	}
	if _, err := build.Image(build.Program{Name: "f", Platform: v1.Platform{OS: "linux", Architecture: "none"}}, build.Options{Base: base}); err == nil {
		t.Error("Image() with a base for another platform = nil, want an error")
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	program := compiled(t)
	one := imageOf(t, program, build.Options{})
	archive := filepath.Join(t.TempDir(), "add-owner.tar")
	if _, err := destination(t, "docker-archive:"+archive).Write(t.Context(), []v1.Image{one}); err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag("add-owner")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tarball.ImageFromPath(archive, &tag); err != nil {
		t.Error(err)
	}
	dir := filepath.Join(t.TempDir(), "layout")
	for _, images := range [][]v1.Image{{one}, {one, one}, {one}} {
		if got, err := destination(t, "oci:"+dir).Write(t.Context(), images); err != nil || got != "oci:"+dir {
			t.Fatalf("Write() = %q, error %v", got, err)
		}
		index, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		if manifest, err := index.IndexManifest(); err != nil || len(manifest.Manifests) != 1 {
			t.Errorf("index of the layout = %v, error %v; want 1 image", manifest, err)
		}
		allRead(t, dir)
	}
}

// allRead checks that blobs have the same read permissions as the index, which follow the umask.
func allRead(t *testing.T, dir string) {
	t.Helper()
	index, err := os.Stat(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	blobs, err := filepath.Glob(filepath.Join(dir, "blobs", "sha256", "*"))
	if err != nil || len(blobs) == 0 {
		t.Fatalf("blobs %v, %v", blobs, err)
	}
	for _, blob := range blobs {
		if info, err := os.Stat(blob); err != nil || info.Mode().Perm() != index.Mode().Perm()&^0o111 {
			t.Errorf("mode of a blob = %v, error %v; mode of the index = %v", info.Mode(), err, index.Mode())
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	program := compiled(t)
	image := imageOf(t, program, build.Options{})
	full := t.TempDir()
	write(t, filepath.Join(full, "notes"), "")
	broken := filepath.Join(t.TempDir(), "broken")
	write(t, filepath.Join(broken, "go.mod"), "module example.com/broken\n")
	write(t, filepath.Join(broken, "main.go"), "package main\n\nfunc main() { gone() }\n")
	linked := program
	linked.Interpreter = "/lib/ld.so"
	twice := filepath.Join(t.TempDir(), "two")
	path, err := layout.Write(twice, mustIndex(t, image, image))
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		do   func() error
		want string
	}{
		"script": {func() error {
			_, err := build.ReadProgram(filepath.Join(full, "notes"))
			return err
		}, "is not a Linux program"},
		"missing program": {func() error {
			_, err := build.ReadProgram(filepath.Join(full, "gone"))
			return err
		}, "no such file"},
		"code that does not compile": {func() error {
			_, err := build.Compile(t.Context(), broken, program.Platform)
			return err
		}, "undefined: gone"},
		"dynamic program": {func() error {
			_, err := build.Image(linked, build.Options{})
			return err
		}, "build it with CGO_ENABLED=0, or set a base image"},
		"invalid label": {build.Options{Labels: map[string]string{traits.WorkerLabel: "yes"}}.Validate, `label krmfn.dev/worker is "yes", want true or false`},
		"invalid destination": {func() error {
			_, err := build.ParseDestination("oci:")
			return err
		}, "neither oci:DIR nor docker-archive:FILE nor REGISTRY/NAME:TAG"},
		"directory with files": {func() error {
			_, err := destination(t, "oci:"+full).Write(t.Context(), []v1.Image{image})
			return err
		}, "is neither an OCI layout nor an empty directory"},
		"layout with several images": {func() error {
			_, err := destination(t, "oci:"+string(path)).Write(t.Context(), []v1.Image{image})
			return err
		}, "has 2 images, which would be overwritten"},
		"archive for two platforms": {func() error {
			_, err := destination(t, "docker-archive:"+filepath.Join(full, "x.tar")).Write(t.Context(), []v1.Image{image, image})
			return err
		}, "an archive can contain only one image"},
		"invalid base": {func() error {
			_, err := build.Pulled(t.Context(), "A B")
			return err
		}, `base image "A B" is invalid`},
		"registry that does not answer": {func() error {
			_, err := destination(t, "127.0.0.1:1/f:v1").Write(t.Context(), []v1.Image{image})
			return err
		}, "push 127.0.0.1:1/f:v1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.do(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error = %v, want %q", err, tc.want)
			}
		})
	}
}

func mustIndex(t *testing.T, images ...v1.Image) v1.ImageIndex {
	t.Helper()
	index, err := ociimage.Index(images)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// Arbitrary bytes are read as a program without a panic.
func FuzzReadProgram(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := build.ReadProgram(file); err == nil && p.Platform.Architecture == "" {
			t.Errorf("ReadProgram() = platform %+v, want an architecture", p.Platform)
		}
	})
}
