// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked_test

import (
	"archive/tar"
	"errors"
	"io/fs"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked/imagetest"
)

type layer = []imagetest.Entry

// run is the config of an image that can run.
var run = v1.ConfigFile{Config: v1.Config{Entrypoint: []string{"/fn"}}}

func open(t *testing.T, dir string, o unpacked.Options) *unpacked.Cache {
	t.Helper()
	c, err := unpacked.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// files returns the content of the files in a directory, "-> target" for links, and "/" for directories. It omits mount points.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		switch {
		case name == "dev":
			return fs.SkipDir
		case name == ".", name == "proc", name == "tmp":
		case d.IsDir():
			found[name] = "/"
		case d.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(path)
			found[name] = "-> " + target
			return err
		default:
			content, err := os.ReadFile(path)
			found[name] = string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func file(name, content string) imagetest.Entry {
	return imagetest.Entry{Name: name, Content: []byte(content)}
}

func symlink(name, target string) imagetest.Entry {
	return imagetest.Entry{Name: name, Type: tar.TypeSymlink, Link: target}
}

func hardLink(name, target string) imagetest.Entry {
	return imagetest.Entry{Name: name, Type: tar.TypeLink, Link: target}
}

func directory(name string) imagetest.Entry {
	return imagetest.Entry{Name: name, Type: tar.TypeDir}
}

func TestLayers(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		layers []layer
		want   map[string]string
		err    string
	}{
		"file":                                 {layers: []layer{{file("fn", "1")}}, want: map[string]string{"fn": "1"}},
		"missing directory":                    {layers: []layer{{file("a/b/fn", "1")}}, want: map[string]string{"a": "/", "a/b": "/", "a/b/fn": "1"}},
		"absolute path":                        {layers: []layer{{file("/a", "1")}}, want: map[string]string{"a": "1"}},
		"dots that lead outside":               {layers: []layer{{file("../../../a", "1"), file("b/../../../c", "2")}}, want: map[string]string{"a": "1", "c": "2"}},
		"file over a file":                     {layers: []layer{{file("a", "1")}, {file("a", "2")}}, want: map[string]string{"a": "2"}},
		"file over a directory":                {layers: []layer{{file("a/b", "1")}, {file("a", "2")}}, want: map[string]string{"a": "2"}},
		"directory over a file":                {layers: []layer{{file("a", "1")}, {directory("a"), file("a/b", "2")}}, want: map[string]string{"a": "/", "a/b": "2"}},
		"same directory twice":                 {layers: []layer{{file("a/b", "1")}, {directory("a")}}, want: map[string]string{"a": "/", "a/b": "1"}},
		"file over a symlink":                  {layers: []layer{{file("a", "1"), symlink("b", "a")}, {file("b", "2")}}, want: map[string]string{"a": "1", "b": "2"}},
		"through a symlink":                    {layers: []layer{{directory("run"), symlink("var/run", "/run")}, {file("var/run/a", "1")}}, want: map[string]string{"run": "/", "run/a": "1", "var": "/", "var/run": "-> /run"}},
		"through a symlink that leads outside": {layers: []layer{{symlink("etc", "../../../../etc"), file("etc/passwd", "x")}}, want: map[string]string{"etc": "-> ../../../../etc"}, err: "etc"},
		"through an absolute symlink":          {layers: []layer{{symlink("out", "/a"), file("out/b", "x")}}, want: map[string]string{"out": "-> /a", "a": "/", "a/b": "x"}},
		"hard link":                            {layers: []layer{{file("a", "1"), hardLink("b", "a")}}, want: map[string]string{"a": "1", "b": "1"}},
		"hard link to outside":                 {layers: []layer{{hardLink("b", "../../../../../etc/passwd")}}, err: "no such file"},
		"hard link through a symlink":          {layers: []layer{{symlink("e", "/etc"), hardLink("b", "e/passwd")}}, err: "no such file"},
		"whiteout":                             {layers: []layer{{file("a/b", "1"), file("a/c", "2")}, {file("a/.wh.b", "")}}, want: map[string]string{"a": "/", "a/c": "2"}},
		"whiteout of a file in its layer":      {layers: []layer{{file("a", "1")}, {file("a", "2"), file(".wh.a", "")}}, want: map[string]string{"a": "2"}},
		"whiteout of a parent":                 {layers: []layer{{file("a/b", "1")}, {file("a/c", "2"), file(".wh.a", "")}}, want: map[string]string{"a": "/", "a/c": "2"}},
		"whiteout that leads outside":          {layers: []layer{{symlink("out", "/")}, {file("out/.wh...", ""), file("../.wh...", "")}}, want: map[string]string{"out": "-> /"}},
		"opaque directory":                     {layers: []layer{{file("a/b", "1"), file("a/d/e", "1")}, {file("a/c", "2"), file("a/.wh..wh..opq", ""), file("a/d/f", "3")}}, want: map[string]string{"a": "/", "a/c": "2", "a/d": "/", "a/d/f": "3"}},
		"devices and pipes": {layers: []layer{{
			file("fn", "1"), {Name: "sda", Type: tar.TypeBlock}, {Name: "mem", Type: tar.TypeChar}, {Name: "pipe", Type: tar.TypeFifo},
		}}, want: map[string]string{"fn": "1"}},
		"links at mount points":       {layers: []layer{{symlink("proc", "/"), symlink("tmp", "../.."), symlink("dev", "/etc")}}, want: map[string]string{}},
		"too large":                   {layers: []layer{{file("a", strings.Repeat("x", 2000))}}, err: "larger than images may be"},
		"too many parent directories": {layers: []layer{{file("a/b/c/d/e/f/g/h/i/j/k/l/m", "1")}}, err: "more files than images may have"},
		"too many entries":            {layers: []layer{slices.Repeat(layer{directory("a")}, 13)}, err: "more files than images may have"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, t.TempDir(), unpacked.Options{MaxImage: 1000, MaxFiles: 12})
			got, err := c.Image(t.Context(), imagetest.Layout(t, imagetest.Image(t, run, tc.layers...)))
			if tc.err != "" && err == nil && tc.want == nil || tc.err == "" && err != nil || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Fatalf("Image() = %v, want %q", err, tc.err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tc.want, files(t, got.Root)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Files can be read and executed as far as the image allows it. Other permissions are ignored.
func TestModes(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir(), unpacked.Options{})
	got, err := c.Image(t.Context(), imagetest.Layout(t, imagetest.Image(t, run, layer{
		{Name: "private", Content: []byte("1"), Mode: 0o600},
		{Name: "setuid", Content: []byte("1"), Mode: 0o6777},
		{Name: "none/fn", Content: []byte("1"), Mode: 0o100},
		{Name: "shut", Type: tar.TypeDir, Mode: 0o001},
	})))
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]fs.FileMode{}
	for _, name := range []string{"private", "setuid", "none/fn", "shut"} {
		info, err := os.Stat(filepath.Join(got.Root, name))
		if err != nil {
			t.Fatal(err)
		}
		modes[name] = info.Mode()
	}
	want := map[string]fs.FileMode{"private": 0o644, "setuid": 0o755, "none/fn": 0o544, "shut": fs.ModeDir | 0o755}
	if diff := cmp.Diff(want, modes); diff != "" {
		t.Error(diff)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config v1.ConfigFile
		want   unpacked.Image
		err    string
	}{
		"all fields": {
			config: v1.ConfigFile{Config: v1.Config{Entrypoint: []string{"/fn"}, Cmd: []string{"-x"}, Env: []string{"A=b"}, User: "65532", WorkingDir: "/work/dir"}},
			want:   unpacked.Image{Command: []string{"/fn", "-x"}, Env: []string{"A=b"}, User: "65532", Dir: "/work/dir"},
		},
		"only a cmd":               {config: v1.ConfigFile{Config: v1.Config{Cmd: []string{"fn"}}}, want: unpacked.Image{Command: []string{"fn"}}},
		"no command":               {err: "neither an entrypoint nor a cmd"},
		"another operating system": {config: v1.ConfigFile{OS: "windows", Architecture: runtime.GOARCH, Config: run.Config}, err: "it is for windows/"},
		"another architecture":     {config: v1.ConfigFile{OS: "linux", Architecture: "pdp11", Config: run.Config}, err: "it is for linux/pdp11"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t, t.TempDir(), unpacked.Options{})
			got, err := c.Image(t.Context(), imagetest.Layout(t, imagetest.Image(t, tc.config, layer{file("fn", "1")})))
			if tc.err == "" && err != nil || tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
				t.Fatalf("Image() = %v, want %q", err, tc.err)
			}
			if tc.want.Dir != "" {
				if _, err := os.Stat(filepath.Join(got.Root, tc.want.Dir)); err != nil {
					t.Error(err)
				}
			}
			got.ID, got.Root = "", ""
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A layer with another digest than the one in the config is not cached.
func TestWrongLayer(t *testing.T) {
	t.Parallel()
	image := imagetest.Image(t, run, layer{file("fn", "1")})
	ref := imagetest.Layout(t, image)
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	digest, err := layers[0].Digest()
	if err != nil {
		t.Fatal(err)
	}
	other := imagetest.Image(t, run, layer{file("fn", "2")})
	layers, err = other.Layers()
	if err != nil {
		t.Fatal(err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close()
	blob, err := os.OpenFile(filepath.Join(strings.TrimPrefix(ref, "oci:"), "blobs", "sha256", digest.Hex), os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blob.ReadFrom(content); err != nil {
		t.Fatal(err)
	}
	if err := blob.Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if got, err := open(t, dir, unpacked.Options{}).Image(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "the config says") {
		t.Errorf("Image() = %v, error %v", got, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "new", "*")); len(left) > 0 {
		t.Errorf("%v remains", left)
	}
}

func TestArchive(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "image.tar")
	tag, err := name.NewTag("example.com/fn:v1")
	if err != nil {
		t.Fatal(err)
	}
	if err := tarball.WriteToFile(path, tag, imagetest.Image(t, run, layer{file("fn", "1")})); err != nil {
		t.Fatal(err)
	}
	c := open(t, t.TempDir(), unpacked.Options{})
	for _, ref := range []string{"docker-archive:" + path, "docker-archive:" + path + ":example.com/fn:v1"} {
		got, err := c.Image(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"fn": "1"}, files(t, got.Root)); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := c.Image(t.Context(), "docker-archive:"+path+":example.com/fn:v2"); err == nil {
		t.Error("Image() of a name that is not in the archive = nil, want an error")
	}
}

func TestRegistry(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(ggcr.New())
	t.Cleanup(server.Close)
	repository := strings.TrimPrefix(server.URL, "http://") + "/fn"
	tag, err := name.NewTag(repository + ":v1")
	if err != nil {
		t.Fatal(err)
	}
	index := mutate.AppendManifests(empty.Index,
		mutate.IndexAddendum{Add: imagetest.Image(t, v1.ConfigFile{OS: "linux", Architecture: "pdp11"}), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "pdp11"}}},
		mutate.IndexAddendum{Add: imagetest.Image(t, run, layer{file("fn", "1")}), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH}}},
	)
	if err := remote.WriteIndex(tag, index); err != nil {
		t.Fatal(err)
	}
	client := registry.NewClient(registry.Options{})
	t.Cleanup(client.Close)
	var pulls atomic.Int32
	dir := t.TempDir()
	content := func(p unpacked.Policy) string {
		t.Helper()
		c := open(t, dir, unpacked.Options{Registry: client, Policy: p, Pulling: func(_ string, goesOn bool) {
			if goesOn {
				pulls.Add(1)
			}
		}})
		image, err := c.Image(t.Context(), tag.String())
		if err != nil {
			return err.Error()
		}
		return files(t, image.Root)["fn"]
	}
	if got := content(unpacked.Never); !strings.Contains(got, "not in the cache") {
		t.Errorf("Never: %q", got)
	}
	if got := content(unpacked.IfNotPresent); got != "1" || pulls.Load() != 1 {
		t.Errorf("IfNotPresent, not cached: content %q after %d pulls", got, pulls.Load())
	}
	if err := remote.Write(tag, imagetest.Image(t, run, layer{file("fn", "2")})); err != nil {
		t.Fatal(err)
	}
	if got := content(unpacked.IfNotPresent); got != "1" || pulls.Load() != 1 {
		t.Errorf("IfNotPresent, cached: content %q after %d pulls", got, pulls.Load())
	}
	if got := content(unpacked.Always); got != "2" || pulls.Load() != 2 {
		t.Errorf("Always: content %q after %d pulls", got, pulls.Load())
	}
	if got := content(unpacked.Always); got != "2" || pulls.Load() != 2 {
		t.Errorf("Always, cached: content %q after %d pulls", got, pulls.Load())
	}
	server.Close()
	if got := content(unpacked.Never); got != "2" || pulls.Load() != 2 {
		t.Errorf("Never, cached: content %q after %d pulls", got, pulls.Load())
	}
}

func TestPrune(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ref := imagetest.Layout(t, imagetest.Image(t, run, layer{file("fn", "1234")}))
	used, idle := open(t, dir, unpacked.Options{}), open(t, dir, unpacked.Options{})
	image, err := used.Image(t.Context(), ref)
	if err != nil {
		t.Fatal(err)
	}
	got, err := idle.Prune(0)
	if diff := cmp.Diff(unpacked.Pruned{InUse: 1}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	used.Close()
	if got, err = idle.Prune(1 << 40); len(got.Images) > 0 || err != nil {
		t.Error("Prune() removed an image that was just used", err)
	}
	got, err = idle.Prune(0)
	if diff := cmp.Diff(unpacked.Pruned{Images: []string{image.ID}, Bytes: 4}, got); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if _, err := os.Stat(image.Root); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the image still exists", err)
	}
	if again, err := idle.Image(t.Context(), ref); err != nil || !cmp.Equal(again, image) {
		t.Error(again, err)
	}
}

// A new image evicts unused ones above MaxTotal.
func TestMaxTotal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var images []unpacked.Image
	for _, content := range []string{"1234", "5678"} {
		c := open(t, dir, unpacked.Options{MaxTotal: 5})
		image, err := c.Image(t.Context(), imagetest.Layout(t, imagetest.Image(t, run, layer{file("fn", content)})))
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, image)
		c.Close()
	}
	if _, err := os.Stat(images[0].Root); !errors.Is(err, fs.ErrNotExist) {
		t.Error("the first image still exists", err)
	}
	if _, err := os.Stat(images[1].Root); err != nil {
		t.Error(err)
	}
}

// Several caches of one directory act as processes, because locks belong to open files.
func TestConcurrentProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ref := imagetest.Layout(t, imagetest.Image(t, run, layer{file("fn", "1")}))
	var work sync.WaitGroup
	for range 8 {
		c := open(t, dir, unpacked.Options{})
		work.Go(func() {
			image, err := c.Image(t.Context(), ref)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := c.Prune(0); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(image.Root, "fn")); err != nil {
				t.Error(err)
			}
		})
	}
	work.Wait()
}
