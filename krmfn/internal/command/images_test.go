// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// newRegistry serves a registry on this machine, and returns its host and what counts the blobs that are written to it.
func newRegistry(t *testing.T) (host string, uploads func() int) {
	t.Helper()
	inner := registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	sent := make(chan struct{}, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/blobs/") {
			sent <- struct{}{}
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), func() int { return len(sent) }
}

// push writes an index of two images and returns its digest.
func push(t *testing.T, ref string) string {
	t.Helper()
	index, err := random.Index(64, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(ref)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.WriteIndex(tag, index); err != nil {
		t.Fatal(err)
	}
	digest, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

// imagesPackage returns a package of two whose functions are of a registry.
func imagesPackage(t *testing.T, host string) string {
	t.Helper()
	return newPackage(t, map[string]string{
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n" +
			"    - {image: set-labels, tag: ~0.2, configMap: {a: b}}\n    - {image: own:v1, name: first}\n    - {exec: ./x}\n  validators:\n    - image: own:v1\n",
		"db/Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: db\npipeline:\n  mutators:\n    - image: " + host + "/fn/own:v1\n",
	})
}

func TestImages(t *testing.T) {
	t.Parallel()
	host, _ := newRegistry(t)
	labels, own := push(t, host+"/fn/set-labels:v0.2.3"), push(t, host+"/fn/own:v1")
	dir := imagesPackage(t, host)
	before := snapshot(t, dir)
	got := krmfn(t, "images", dir, "--default-image-prefix", host+"/fn").ok(t)
	want := "IMAGE   DIGEST   BUILT IN   USED BY\nHOST/fn/own:v1   " + own + "   db, . (2)\nHOST/fn/set-labels:v0.2.3   " + labels + "   set-labels VERSION   .\n"
	if diff := cmp.Diff(want, strings.Replace(timeless(strings.ReplaceAll(got.out, host, "HOST")), "set-labels:VERSION", "set-labels:v0.2.3", 1)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var doc struct {
		Images []struct {
			Image, Digest, BuiltIn, Problem string
			UsedBy                          []struct{ Package, Name, Image, Tag string }
		}
	}
	got = krmfn(t, "images", dir, "--default-image-prefix", host+"/fn", "-o", "json").ok(t)
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || len(doc.Images) != 2 {
		t.Fatalf("%v: %s", err, got.out)
	}
	if i := doc.Images[1]; i.Digest != labels || i.BuiltIn == "" || len(i.UsedBy) != 1 || i.UsedBy[0].Tag != "~0.2" || i.UsedBy[0].Image != "set-labels" {
		t.Errorf("got %+v", i)
	}
	if i := doc.Images[0]; i.BuiltIn != "" || len(i.UsedBy) != 3 || i.UsedBy[1].Name != "first" {
		t.Errorf("got %+v", i)
	}
	unchanged(t, dir, before)
}

// Without a registry there is a list, and the constraint means a release that krmfn knows.
func TestImagesOffline(t *testing.T) {
	t.Parallel()
	dir := imagesPackage(t, "localhost:1")
	got := krmfn(t, "images", dir, "--offline", "-o", "name", "--default-image-prefix=localhost:1/fn").ok(t)
	if names := strings.Fields(got.out); len(names) != 2 || names[0] != "localhost:1/fn/own:v1" || !strings.HasPrefix(names[1], "localhost:1/fn/set-labels:v0.2.") {
		t.Errorf("got %q", got.out)
	}
	got = krmfn(t, "images", dir, "--default-image-prefix=localhost:1/fn")
	if got.code != failure.Failed {
		t.Errorf("exit code %d", got.code)
	}
	contains(t, got.out, "localhost:1/fn/own:v1")
	contains(t, got.err, "[WARN] localhost:1/fn/own:v1: ", "error: digests are not known for 2 of 2 images: --offline leaves digests out\n")
}

func TestImagesCopyToRegistry(t *testing.T) {
	t.Parallel()
	host, _ := newRegistry(t)
	target, uploads := newRegistry(t)
	digest := push(t, host+"/fn/set-labels:v0.2.3")
	push(t, host+"/fn/own:v1")
	dir := imagesPackage(t, host)
	args := []string{"images", dir, "--default-image-prefix", host + "/fn", "--copy-to", target + "/mirror"}
	got := krmfn(t, args...).ok(t)
	renamed := target + "/mirror/" + strings.ReplaceAll(host, ":", "-") + "/fn/set-labels:v0.2.3"
	contains(t, columns.ReplaceAllString(got.out, "$1   "), "IMAGE   COPY   STATE\n", host+"/fn/set-labels:v0.2.3   "+renamed+"   copied\n")
	contains(t, got.err, "[2/2] copying "+host)
	ref, err := name.NewTag(renamed)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(ref)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := index.Digest(); err != nil || got.String() != digest {
		t.Errorf("the copy is %s, %v, want %s", got, err, digest)
	}
	sent := uploads()
	got = krmfn(t, append(args, "-o", "json")...).ok(t)
	contains(t, got.out, `"copy": "`+renamed+`"`)
	if strings.Contains(got.out, `"copied"`) || uploads() != sent || sent != 8 {
		t.Errorf("%d and %d blobs were sent: %s", sent, uploads(), got.out)
	}
}

func TestImagesCopyToLayout(t *testing.T) {
	t.Parallel()
	host, _ := newRegistry(t)
	digest := push(t, host+"/fn/set-labels:v0.2.3")
	push(t, host+"/fn/own:v1")
	dir, copies := imagesPackage(t, host), filepath.Join(t.TempDir(), "images")
	args := []string{"images", dir, "--default-image-prefix", host + "/fn", "--copy-to", "oci:" + copies}
	contains(t, krmfn(t, args...).ok(t).out, "   copied\n")
	index, err := layout.ImageIndexFromPath(copies)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(manifest.Manifests, func(d v1.Descriptor) bool {
		return d.Annotations["org.opencontainers.image.ref.name"] == host+"/fn/set-labels:v0.2.3" && d.Digest.String() == digest
	})
	if len(manifest.Manifests) != 2 || !found {
		t.Errorf("got %+v", manifest.Manifests)
	}
	before := snapshot(t, copies)
	again := krmfn(t, args...).ok(t)
	contains(t, again.out, "already there\n")
	unchanged(t, copies, before)

	// A tag that has moved takes the place of the image that it was.
	moved := push(t, host+"/fn/set-labels:v0.2.3")
	contains(t, krmfn(t, args...).ok(t).out, "   copied\n", "already there\n")
	if text := snapshot(t, copies)["index.json"]; !strings.Contains(text, moved) || strings.Contains(text, digest) {
		t.Errorf("the layout has\n%s", text)
	}
}

func TestImagesUsage(t *testing.T) {
	t.Parallel()
	contains(t, krmfn(t, "__complete", "images", "-o", "").ok(t).out, "json\nname\n")
	dir := newPackage(t, nil)
	for want, args := range map[string][]string{
		`--format is "yaml", want text, json or name`:            {"-o=yaml"},
		"--copy-to needs registries: leave out --offline":        {"--offline", "--copy-to=oci:x"},
		`--copy-to: "mirror" names no registry`:                  {"--copy-to=mirror"},
		"shop is neither empty nor an OCI layout":                {"--copy-to=oci:" + dir},
		"--copy-to: the directory of the OCI layout is empty":    {"--copy-to=oci:"},
		`invalid image prefix "https://r.io"`:                    {"--default-image-prefix=https://r.io"},
		`invalid image prefix "r.io/UPPER": must be a valid reg`: {"--copy-to=r.io/UPPER"},
	} {
		got := krmfn(t, append([]string{"images", dir}, args...)...)
		if got.code != failure.Failed || got.out != "" || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%v: got exit code %d and %q", args, got.code, got.out)
		}
		contains(t, got.err, want)
	}
}
