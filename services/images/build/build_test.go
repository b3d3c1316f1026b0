// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package build_test

import (
	"io"
	"log" //nolint:depguard // the registry's library logs with it
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

	"github.com/krmfn/krmfn/services/evaluation/traits"
	"github.com/krmfn/krmfn/services/images/build"
	"github.com/krmfn/krmfn/services/images/registry"
)

// compiled is a small program for this machine.
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

// The same program gives the same image, which says of itself what function runners read.
func TestPush(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	program := compiled(t)
	if program.Name != "add-owner" || program.Interpreter != "" || program.Platform.Architecture != runtime.GOARCH {
		t.Errorf("compiled %s for %s, with the dynamic linker %q", program.Name, program.Platform, program.Interpreter)
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
		t.Errorf("another build gives %s, not %s, error %v", second, first, err)
	}
	client := registry.NewClient(registry.Options{})
	t.Cleanup(client.Close)
	digest, err := client.Digest(t.Context(), ref)
	if err != nil || ref+"@"+digest != first {
		t.Errorf("the registry has digest %s, error %v, not %s", digest, err, first)
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

	// It can be the base of another.
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
		t.Errorf("got %d layers and labels %v", len(config.RootFS.DiffIDs), config.Config.Labels)
	}
	if _, err := build.Image(build.Program{Name: "f", Platform: v1.Platform{OS: "linux", Architecture: "none"}}, build.Options{Base: base}); err == nil {
		t.Error("a base for another platform is taken")
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
			t.Fatalf("wrote %q, error %v", got, err)
		}
		index, err := layout.ImageIndexFromPath(dir)
		if err != nil {
			t.Fatal(err)
		}
		if manifest, err := index.IndexManifest(); err != nil || len(manifest.Manifests) != 1 {
			t.Errorf("the layout has %v, error %v", manifest, err)
		}
		allRead(t, dir)
	}
}

// allRead fails the test where the umask lets all read a layout's index and a blob is for its owner alone.
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
			t.Errorf("%v, error %v; the index is %v", info.Mode(), err, index.Mode())
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
		"a script": {func() error {
			_, err := build.ReadProgram(filepath.Join(full, "notes"))
			return err
		}, "is not a Linux program"},
		"no program": {func() error {
			_, err := build.ReadProgram(filepath.Join(full, "gone"))
			return err
		}, "no such file"},
		"code that does not compile": {func() error {
			_, err := build.Compile(t.Context(), broken, program.Platform)
			return err
		}, "undefined: gone"},
		"a dynamic program": {func() error {
			_, err := build.Image(linked, build.Options{})
			return err
		}, "build it with CGO_ENABLED=0, or name a base image"},
		"a label": {build.Options{Labels: map[string]string{traits.WorkerLabel: "yes"}}.Validate, `label krmfn.dev/worker is "yes", want true or false`},
		"a destination": {func() error {
			_, err := build.ParseDestination("oci:")
			return err
		}, "neither oci:DIR nor docker-archive:FILE nor REGISTRY/NAME:TAG"},
		"a directory with files": {func() error {
			_, err := destination(t, "oci:"+full).Write(t.Context(), []v1.Image{image})
			return err
		}, "is neither an OCI layout nor an empty directory"},
		"a layout of several images": {func() error {
			_, err := destination(t, "oci:"+string(path)).Write(t.Context(), []v1.Image{image})
			return err
		}, "has 2 images, which would be overwritten"},
		"an archive for two platforms": {func() error {
			_, err := destination(t, "docker-archive:"+filepath.Join(full, "x.tar")).Write(t.Context(), []v1.Image{image, image})
			return err
		}, "an archive has one image"},
		"a base": {func() error {
			_, err := build.Pulled(t.Context(), "A B")
			return err
		}, `base image "A B" is invalid`},
		"a registry that is not there": {func() error {
			_, err := destination(t, "127.0.0.1:1/f:v1").Write(t.Context(), []v1.Image{image})
			return err
		}, "push 127.0.0.1:1/f:v1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tc.do(); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got error %v, want %q", err, tc.want)
			}
		})
	}
}

func mustIndex(t *testing.T, images ...v1.Image) v1.ImageIndex {
	t.Helper()
	index, err := build.Index(images)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// Files that claim to be programs harm nobody.
func FuzzReadProgram(f *testing.F) {
	f.Add([]byte("\x7fELF\x02\x01\x01"))
	f.Fuzz(func(t *testing.T, content []byte) {
		file := filepath.Join(t.TempDir(), "program")
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if p, err := build.ReadProgram(file); err == nil && p.Platform.Architecture == "" {
			t.Errorf("%+v", p.Platform)
		}
	})
}
