// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/tools/release/internal/image"
)

var names = []string{"function-runner", "functions", "image-warmer", "krmfn", "pod-janitor", "task-handler", "wrapper-server"}

func TestEqualInputGivesEqualDigests(t *testing.T) {
	t.Parallel()

	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		build(t, dir)
	}
	for _, name := range names {
		if diff := cmp.Diff(readIndex(t, first, name), readIndex(t, second, name)); diff != "" {
			t.Errorf("%s: index.json (-first +second):\n%s", name, diff)
		}
	}
}

func TestLayoutsAreValidAndHaveAllArchitectures(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	build(t, dir)
	build(t, dir) // replaces the first build
	for _, name := range names {
		idx, err := layout.ImageIndexFromPath(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := validate.Index(idx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var got []string
		for _, img := range platformImages(t, dir, name) {
			config, err := img.ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, config.OS+"/"+config.Architecture)
		}
		if diff := cmp.Diff([]string{"linux/amd64", "linux/arm64"}, got); diff != "" {
			t.Errorf("%s: platforms (-want +got):\n%s", name, diff)
		}
	}
}

func TestConfigOfImages(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		entrypoint, cmd, ports []string
	}{
		"function-runner": {
			entrypoint: []string{"/home/nonroot/server", "--config=/home/nonroot/config.yaml", "--functions=/home/nonroot/functions"},
			ports:      []string{"9445/tcp"},
		},
		"wrapper-server": {
			entrypoint: []string{"/home/nonroot/wrapper-server/wrapper-server"},
			ports:      []string{"9446/tcp"},
		},
		"task-handler": {entrypoint: []string{"/home/nonroot/server"}, ports: []string{"9447/tcp"}},
		"krmfn":        {entrypoint: []string{"/usr/local/bin/krmfn"}},
		"functions":    {entrypoint: []string{"/usr/local/bin/functions"}, cmd: []string{"no-op"}},
		"pod-janitor":  {entrypoint: []string{"/home/nonroot/pod-janitor"}},
		"image-warmer": {entrypoint: []string{"/home/nonroot/image-warmer"}},
	}
	dir := t.TempDir()
	build(t, dir)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			config, err := loadTarball(t, dir, name).ConfigFile()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.entrypoint, config.Config.Entrypoint); diff != "" {
				t.Errorf("entrypoint (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.ports, slices.Collect(maps.Keys(config.Config.ExposedPorts))); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.cmd, config.Config.Cmd); diff != "" {
				t.Errorf("cmd (-want +got):\n%s", diff)
			}
			if got := config.Config.User; got != "10001:10001" {
				t.Errorf("user = %q, want 10001:10001", got)
			}
			if got := config.Config.Labels["org.opencontainers.image.version"]; got != "v1" {
				t.Errorf("version label = %q, want v1", got)
			}
		})
	}
}

func TestFilesOfImages(t *testing.T) {
	t.Parallel()

	tests := map[string]map[string]string{
		"function-runner": {
			"etc/group":                              "-r--r--r--",
			"etc/passwd":                             "-r--r--r--",
			"etc/ssl/certs/ca-certificates.crt":      "-r--r--r-- ca",
			"grpc-health-probe":                      "Lrwxrwxrwx > home/nonroot/grpc-health-probe",
			"home/nonroot/config.yaml":               "-r--r--r--",
			"home/nonroot/functions/functions":       "-r-xr-xr-x functions",
			"home/nonroot/functions/functions-light": "-r-xr-xr-x functions-light",
			"home/nonroot/functions/set-labels":      "Lrwxrwxrwx > functions-light",
			"home/nonroot/functions/kubeconform":     "Lrwxrwxrwx > functions",
			"home/nonroot/grpc-health-probe":         "-r-xr-xr-x wrapper-server",
			"home/nonroot/server":                    "-r-xr-xr-x function-runner",
			"tmp":                                    "dtrwxrwxrwx",
		},
		"task-handler": {
			"etc/group":                         "-r--r--r--",
			"etc/passwd":                        "-r--r--r--",
			"etc/ssl/certs/ca-certificates.crt": "-r--r--r-- ca",
			"grpc-health-probe":                 "-r-xr-xr-x wrapper-server",
			"home/nonroot/functions":            "-r-xr-xr-x functions",
			"home/nonroot/server":               "-r-xr-xr-x task-handler",
			"tmp":                               "dtrwxrwxrwx",
		},
		"wrapper-server": {
			"bin/cp": "Lrwxrwxrwx > ../home/nonroot/wrapper-server/wrapper-server",
			"home/nonroot/wrapper-server/grpc-health-probe": "Lrwxrwxrwx > wrapper-server",
			"home/nonroot/wrapper-server/wrapper-server":    "-r-xr-xr-x wrapper-server",
			"usr/bin/cp":                       "Lrwxrwxrwx > ../../home/nonroot/wrapper-server/wrapper-server",
			"wrapper-server/grpc-health-probe": "Lrwxrwxrwx > wrapper-server",
			"wrapper-server/wrapper-server":    "-r-xr-xr-x > home/nonroot/wrapper-server/wrapper-server",
		},
		"krmfn": {
			"etc/group":                         "-r--r--r--",
			"etc/passwd":                        "-r--r--r--",
			"etc/ssl/certs/ca-certificates.crt": "-r--r--r-- ca",
			"tmp":                               "dtrwxrwxrwx",
			"usr/local/bin/krmfn":               "-r-xr-xr-x krmfn",
		},
		"functions": {
			"etc/group":                         "-r--r--r--",
			"etc/passwd":                        "-r--r--r--",
			"etc/ssl/certs/ca-certificates.crt": "-r--r--r-- ca",
			"tmp":                               "dtrwxrwxrwx",
			"usr/local/bin/functions":           "-r-xr-xr-x functions",
		},
		"image-warmer": {
			"etc/group":                         "-r--r--r--",
			"etc/passwd":                        "-r--r--r--",
			"etc/ssl/certs/ca-certificates.crt": "-r--r--r-- ca",
			"home/nonroot/image-warmer":         "-r-xr-xr-x image-warmer",
			"tmp":                               "dtrwxrwxrwx",
		},
		"pod-janitor": {
			"etc/group":                         "-r--r--r--",
			"etc/passwd":                        "-r--r--r--",
			"etc/ssl/certs/ca-certificates.crt": "-r--r--r-- ca",
			"home/nonroot/pod-janitor":          "-r-xr-xr-x pod-janitor",
			"tmp":                               "dtrwxrwxrwx",
		},
	}
	dir := t.TempDir()
	build(t, dir)
	for name, want := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if diff := cmp.Diff(want, contents(t, loadTarball(t, dir, name))); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func TestImagesWithoutProgramAreSkipped(t *testing.T) {
	t.Parallel()

	from, dir := fakeSources(t), t.TempDir()
	for _, s := range from {
		if err := os.Remove(filepath.Join(s.Binaries, "krmfn")); err != nil {
			t.Fatal(err)
		}
	}
	var out strings.Builder
	if err := run(from, store{dir: dir, registry: "example.com/krmfn", version: "v1"}, &out); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "krmfn")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Stat(krmfn) error = %v, want %v", err, fs.ErrNotExist)
	}
	if !strings.Contains(out.String(), "Skipped image krmfn for amd64") {
		t.Errorf("output does not report that krmfn is skipped:\n%s", &out)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()

	out := store{dir: t.TempDir(), registry: "example.com/krmfn", version: "v1"}
	if err := run(nil, out, io.Discard); err == nil {
		t.Error("run() without architectures succeeded, want an error")
	}
	missing := map[string]image.Sources{"amd64": {Binaries: t.TempDir()}}
	if err := run(missing, out, io.Discard); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("run() without programs: error = %v, want %v", err, fs.ErrNotExist)
	}
	out.version = "not a tag"
	if err := run(fakeSources(t), out, io.Discard); err == nil {
		t.Error("run() with an invalid version succeeded, want an error")
	}
}

// build builds all images from fake programs into dir.
func build(t *testing.T, dir string) {
	t.Helper()
	out := store{dir: dir, registry: "example.com/krmfn", version: "v1"}
	if err := run(fakeSources(t), out, io.Discard); err != nil {
		t.Fatal(err)
	}
}

// fakeSources returns programs whose content is their name.
func fakeSources(t *testing.T) map[string]image.Sources {
	t.Helper()
	dir := t.TempDir()
	perArch := make(map[string]image.Sources)
	for _, name := range []string{"ca", "amd64/", "arm64/"} {
		if name == "ca" {
			write(t, filepath.Join(dir, name), name)
			continue
		}
		for _, command := range append([]string{"functions", "functions-light"}, names...) {
			write(t, filepath.Join(dir, name, command), command)
		}
		perArch[filepath.Clean(name)] = image.Sources{
			Binaries:  filepath.Join(dir, name),
			CABundle:  filepath.Join(dir, "ca"),
			Functions: []function.Function{{Name: "set-labels", Version: "v0.2.0"}, {Name: "kubeconform", Version: "v0.1.0", Heavy: true}},
		}
	}
	return perArch
}

// write writes a file and creates its directory.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readIndex returns the index of a layout, which contains the digests of all blobs.
func readIndex(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// platformImages returns the images of a layout.
func platformImages(t *testing.T, dir, name string) []v1.Image {
	t.Helper()
	top, err := layout.ImageIndexFromPath(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	idx, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if manifest, err = idx.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	images := make([]v1.Image, 0, len(manifest.Manifests))
	for _, desc := range manifest.Manifests {
		img, err := idx.Image(desc.Digest)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, img)
	}
	return images
}

// loadTarball reads the archive that `docker load` can read.
func loadTarball(t *testing.T, dir, name string) v1.Image {
	t.Helper()
	img, err := tarball.ImageFromPath(filepath.Join(dir, name+"-amd64.tar"), nil)
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// contents describes the files of an image by path: the mode, and the target of a link or the content of a file that is one word.
// Directories with mode 0755 are skipped.
func contents(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	r := mutate.Extract(img)
	defer r.Close()
	found := make(map[string]string)
	for archive := tar.NewReader(r); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || header.Gid != 0 {
			t.Errorf("owner of %s = %d:%d, want root", header.Name, header.Uid, header.Gid)
		}
		mode := header.FileInfo().Mode()
		if mode == fs.ModeDir|0o755 {
			continue
		}
		found[header.Name] = mode.String() + describe(t, header, archive)
	}
}

// describe returns the target of a link, or the content of a file if it is one word.
func describe(t *testing.T, header *tar.Header, content io.Reader) string {
	t.Helper()
	if header.Linkname != "" {
		return " > " + header.Linkname
	}
	data, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	var word string
	if n, _ := fmt.Sscanf(string(data), "%s", &word); n == 1 && word == string(data) {
		return " " + word
	}
	return ""
}
