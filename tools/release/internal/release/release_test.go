// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/mod/module"
	"golang.org/x/mod/zip"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/oci"

	"github.com/krmfn/krmfn/tools/release/internal/release"
)

var goBuild = []string{
	"CGO_ENABLED=0", "go", "build", "-trimpath", "-buildvcs=false",
	"-ldflags", "-s -w -X github.com/krmfn/krmfn/internal/server/version.release=none", "-tags", "grpcnotrace",
}

func TestSingleImage(t *testing.T) {
	t.Parallel()

	o := options(t, "wrapper-server/v0.1.1")
	if err := release.Make(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	bill := "wrapper-server-v0.1.1-linux-" + runtime.GOARCH + ".spdx.json"
	want := []string{"checksums.txt", bill, "wrapper-server-v0.1.1.oci.tar"}
	if diff := cmp.Diff(want, files(t, o.Out)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	layout, err := oci.NewFromTar(t.Context(), filepath.Join(o.Out, "wrapper-server-v0.1.1.oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	index, err := layout.Resolve(t.Context(), "v0.1.1")
	if err != nil {
		t.Fatal(err)
	}
	var manifests ocispec.Index
	fetch(t, layout, index, &manifests)
	var manifest ocispec.Manifest
	fetch(t, layout, manifests.Manifests[0], &manifest)
	var config ocispec.Image
	fetch(t, layout, manifest.Config, &config)
	labels := config.Config.Labels
	if len(labels["org.opencontainers.image.revision"]) != 40 || labels["org.opencontainers.image.created"] != "1970-01-01T00:00:07Z" ||
		labels["org.opencontainers.image.version"] != "v0.1.1" || !config.Created.Equal(time.Unix(7, 0)) {
		t.Errorf("labels = %v, created = %s, want revision, time and version", labels, config.Created)
	}
	referrers, err := layout.Predecessors(t.Context(), index)
	if err != nil || len(referrers) != 1 {
		t.Errorf("Predecessors() = %d referrers, %v, want the bill of materials", len(referrers), err)
	}
	data, err := os.ReadFile(filepath.Join(o.Out, bill))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(data, []byte(manifests.Manifests[0].Digest.String())) {
		t.Errorf("bill of materials does not contain the digest %s", manifests.Manifests[0].Digest)
	}
}

func TestSameSourceGivesSameRelease(t *testing.T) {
	t.Parallel()

	var sums [2]string
	for i := range sums {
		// Each release has its own checkout.
		o := options(t, "")
		var log strings.Builder
		o.Log = &log
		if err := release.Make(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(log.String(), "Skipped: image krmfn") {
			t.Errorf("log does not report that krmfn is skipped:\n%s", &log)
		}
		data, err := os.ReadFile(filepath.Join(o.Out, release.ChecksumsFile))
		if err != nil {
			t.Fatal(err)
		}
		sums[i] = string(data)
		if err := release.Verify(o.Out); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(sums[0], sums[1]); diff != "" {
		t.Errorf("checksums (-first +second):\n%s", diff)
	}
	// The versions of the image and the chart differ, so only the chart and the module at the root are released.
	if want := regexp.MustCompile(`^\w{64}  krmfn-0\.1\.0\.tgz\n\w{64}  krmfn-v0\.1\.0\.zip\n$`); !want.MatchString(sums[0]) {
		t.Errorf("checksums:\n%s\nwant the chart and the module at the root", sums[0])
	}
}

func TestModule(t *testing.T) {
	t.Parallel()

	o := options(t, "functions/v0.2.0")
	tag(t, o.Root, "proto/v0.0.1")
	if err := release.Make(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"checksums.txt", "functions-v0.2.0.zip"}, files(t, o.Out)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	checked, err := zip.CheckZip(module.Version{Path: "github.com/krmfn/krmfn/functions", Version: "v0.2.0"},
		filepath.Join(o.Out, "functions-v0.2.0.zip"))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"github.com/krmfn/krmfn/functions@v0.2.0/fn.go", "github.com/krmfn/krmfn/functions@v0.2.0/go.mod",
		"github.com/krmfn/krmfn/functions@v0.2.0/LICENSE",
	}
	if diff := cmp.Diff(want, checked.Valid); diff != "" {
		t.Errorf("files of the module (-want +got):\n%s", diff)
	}
}

func TestModuleErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		prepare func(*testing.T, string)
		want    string
	}{
		"required module is not released": {func(*testing.T, string) {}, "module functions requires proto v0.0.1, which is not released"},
		"required module has changed": {func(t *testing.T, root string) {
			tag(t, root, "proto/v0.0.1")
			write(t, filepath.Join(root, "proto/new.go"), "package proto\n")
			commit(t, root)
		}, "module functions requires proto, which has changed since v0.0.1"},
		"module has changed": {func(t *testing.T, root string) {
			tag(t, root, "proto/v0.0.1")
			tag(t, root, "functions/v0.2.0")
			write(t, filepath.Join(root, "functions/new.go"), "package functions\n")
			commit(t, root)
		}, "module functions has changed since it was released"},
		"requires another version": {func(t *testing.T, root string) {
			write(t, filepath.Join(root, "functions/go.mod"), functionsModule+"\nrequire github.com/krmfn/krmfn/proto v0.0.0\n")
		}, `module functions requires proto v0.0.0, but versions.yaml has "v0.0.1": run make tidy`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			o := options(t, "functions/v0.2.0")
			test.prepare(t, o.Root)
			if err := release.Make(t.Context(), o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Make() error = %v, want %q", err, test.want)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		change func(*testing.T, *release.Options)
		want   string
	}{
		"no architecture": {func(_ *testing.T, o *release.Options) { o.Arches = nil }, "no architecture"},
		"other tag":       {func(_ *testing.T, o *release.Options) { o.Tag = "v9.9.9" }, "tag v9.9.9"},
		"other Go": {func(t *testing.T, o *release.Options) {
			write(t, filepath.Join(o.Root, "versions.yaml"), "chart: v0.1.0\nimages: {krmfn: v0.1.0}\ngo: 1.20.1\n")
		}, "set GOTOOLCHAIN=go1.20.1"},
		"unknown command": {func(_ *testing.T, o *release.Options) { o.Commands = []string{"other"} }, "no image other"},
		"build fails": {func(t *testing.T, o *release.Options) {
			write(t, filepath.Join(o.Root, "wrapper-server/main.go"), "package main\n")
		}, "build wrapper-server for linux/"},
		"program contains its directory": {func(_ *testing.T, o *release.Options) {
			line := append([]string{}, o.GoBuild...)
			o.GoBuild = append(line[:3:3], line[4:]...) // without -trimpath
		}, "a build in another directory differs"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			o := options(t, "")
			test.change(t, &o)
			if err := release.Make(t.Context(), o); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Make() error = %v, want %q", err, test.want)
			}
		})
	}
}

const functionsModule = "module github.com/krmfn/krmfn/functions\n\ngo 1.26.0\n\nreplace github.com/krmfn/krmfn/proto => ../proto\n"

// options returns options for a small repository with one command.
func options(t *testing.T, tag string) release.Options {
	t.Helper()
	root := t.TempDir()
	for file, content := range map[string]string{
		"versions.yaml": "chart: v0.1.0\nimages: {krmfn: v0.1.0, wrapper-server: v0.1.1}\n" +
			"modules: {.: v0.1.0, proto: v0.0.1, functions: v0.2.0}\ngo: " +
			strings.TrimPrefix(runtime.Version(), "go") + "\n",
		"charts/krmfn/Chart.yaml":            "apiVersion: v2\nname: krmfn\nversion: 0.1.0\nappVersion: dev\n",
		"charts/krmfn/values.yaml":           "image:\n  tags: {}\n",
		"LICENSE":                            "License\n",
		"proto/go.mod":                       "module github.com/krmfn/krmfn/proto\n\ngo 1.26.0\n",
		"functions/go.mod":                   functionsModule + "\nrequire github.com/krmfn/krmfn/proto v0.0.1\n",
		"go.mod":                             "module github.com/krmfn/krmfn\n\ngo 1.26.0\n",
		"functions/fn.go":                    "package functions\n",
		"internal/server/version/version.go": "package version\n\nvar release string\n\nfunc Version() string { return release }\n",
		"wrapper-server/go.mod": "module github.com/krmfn/krmfn/wrapper-server\n\ngo 1.26.0\n\n" +
			"require (\n\tgithub.com/krmfn/krmfn/proto v0.0.1 // indirect\n\tgithub.com/krmfn/krmfn v0.1.0\n)\n\n" +
			"replace (\n\tgithub.com/krmfn/krmfn/proto => ../proto\n\tgithub.com/krmfn/krmfn => ..\n)\n",
		"wrapper-server/main.go": "package main\n\nimport \"github.com/krmfn/krmfn/internal/server/version\"\n\n" +
			"func main() { println(version.Version()) }\n",
	} {
		write(t, filepath.Join(root, file), content)
	}
	commit(t, root)
	return release.Options{
		Root: root, Out: filepath.Join(t.TempDir(), "release"), Work: t.TempDir(), Tag: tag, Epoch: "7",
		Arches: []string{runtime.GOARCH}, Commands: []string{"wrapper-server"}, GoBuild: goBuild, Log: io.Discard,
	}
}

// commit commits all files. Equal files get equal commits.
func commit(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, []string{"init", "-q"}, []string{"add", "."}, []string{"commit", "-q", "-m", "first"})
}

func tag(t *testing.T, dir, name string) {
	t.Helper()
	git(t, dir, []string{"tag", name})
}

func git(t *testing.T, dir string, commands ...[]string) {
	t.Helper()
	for _, args := range commands {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
			"GIT_AUTHOR_DATE=2026-02-03T04:05:06Z", "GIT_COMMITTER_DATE=2026-02-03T04:05:06Z")
		if output, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, output)
		}
	}
}

func fetch(t *testing.T, from content.Fetcher, desc ocispec.Descriptor, into any) {
	t.Helper()
	data, err := content.FetchAll(t.Context(), from, desc)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func files(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, len(entries))
	for i, entry := range entries {
		names[i] = entry.Name()
	}
	return names
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
