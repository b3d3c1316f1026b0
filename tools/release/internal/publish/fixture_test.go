// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/krmfn/krmfn/tools/release/internal/chart"
	"github.com/krmfn/krmfn/tools/release/internal/image"
	"github.com/krmfn/krmfn/tools/release/internal/publish"
	"github.com/krmfn/krmfn/tools/release/internal/release"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

// fixture is a release of version v1.2.3 and a registry for it.
type fixture struct {
	dir, registry, revision string
	time                    time.Time
	versions                versions.Versions
}

func newFixture(t *testing.T, images map[string]string) *fixture {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.WithReferrersSupport(true), registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0))))
	t.Cleanup(server.Close)
	f := &fixture{
		dir: t.TempDir(), registry: strings.TrimPrefix(server.URL, "http://"), revision: "4b825dc", time: time.Unix(7, 0),
		versions: versions.Versions{Chart: "v1.2.3", Images: images},
	}
	f.chart(t)
	return f
}

// chart packs a chart.
func (f *fixture) chart(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for file, content := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: krmfn\nversion: 0.0.1\nappVersion: dev\n", "values.yaml": "image:\n  tags: {}\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packed, err := chart.Pack(dir, f.versions, nil, f.time)
	if err != nil {
		t.Fatal(err)
	}
	f.write(t, packed.Name, string(packed.Data))
}

// images writes random images, each with a bill of materials, and returns their digests.
func (f *fixture) images(t *testing.T, names ...string) map[string]v1.Hash {
	t.Helper()
	digests := make(map[string]v1.Hash)
	for _, name := range names {
		img, err := random.Image(100, 2)
		if err != nil {
			t.Fatal(err)
		}
		img, err = mutate.Config(img, v1.Config{Labels: map[string]string{"org.opencontainers.image.revision": f.revision}})
		if err != nil {
			t.Fatal(err)
		}
		idx := mutate.AppendManifests(must(random.Index(1, 0, 0))(t), mutate.IndexAddendum{Add: img})
		digests[name] = must(idx.Digest())(t)
		version := f.versions.Images[name]
		err = image.WriteArchive(filepath.Join(f.dir, release.ImageFile(name, version)), version, idx, []image.Referrer{
			{Title: name + ".spdx.json", MediaType: "application/spdx+json", Data: []byte(billOfMaterials)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	f.checksums(t)
	return digests
}

// checksums writes the checksums of all files.
func (f *fixture) checksums(t *testing.T) {
	t.Helper()
	var lines []string
	for _, entry := range must(os.ReadDir(f.dir))(t) {
		if entry.Name() != release.ChecksumsFile {
			sum := sha256.Sum256(must(os.ReadFile(filepath.Join(f.dir, entry.Name())))(t))
			lines = append(lines, fmt.Sprintf("%s  %s\n", hex.EncodeToString(sum[:]), entry.Name()))
		}
	}
	slices.Sort(lines)
	f.write(t, release.ChecksumsFile, strings.Join(lines, ""))
}

func (f *fixture) write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, file), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) remove(t *testing.T, file string) {
	t.Helper()
	if err := os.Remove(filepath.Join(f.dir, file)); err != nil {
		t.Fatal(err)
	}
}

func (f *fixture) options(t *testing.T, tag string) publish.Options {
	t.Helper()
	return publish.Options{
		Dir: f.dir, Versions: f.versions, Release: must(f.versions.Release(tag))(t), Registry: f.registry + "/krmfn",
		PlainHTTP: true, Log: io.Discard,
	}
}

func (f *fixture) publish(t *testing.T, tag string) []string {
	t.Helper()
	return must(publish.Publish(t.Context(), f.options(t, tag)))(t)
}

// checkImage pulls an image and its bill of materials, and returns the reference of the bill of materials.
func (f *fixture) checkImage(t *testing.T, image, version string, want v1.Hash) (bill string) {
	t.Helper()
	tag := must(name.NewTag(f.registry+"/krmfn/"+image+":"+version, name.Insecure))(t)
	idx := must(remote.Index(tag, remote.WithContext(t.Context())))(t)
	if got := must(idx.Digest())(t); got != want {
		t.Errorf("digest of %s = %s, want %s", tag, got, want)
	}
	if err := validate.Index(idx); err != nil {
		t.Errorf("%s: %v", tag, err)
	}
	referrers := must(must(remote.Referrers(tag.Digest(want.String()), remote.WithContext(t.Context())))(t).IndexManifest())(t)
	if len(referrers.Manifests) != 1 {
		t.Fatalf("%s: referrers = %+v, want one bill of materials", tag, referrers.Manifests)
	}
	artifact := must(remote.Image(tag.Digest(referrers.Manifests[0].Digest.String()), remote.WithContext(t.Context())))(t)
	// This registry lists the media type of the config in place of artifactType, so read the manifest.
	if got := must(artifact.Manifest())(t).ArtifactType; got != "application/spdx+json" {
		t.Errorf("%s: artifact type of the referrer = %s, want application/spdx+json", tag, got)
	}
	r := must(must(artifact.Layers())(t)[0].Compressed())(t)
	defer r.Close()
	if diff := cmp.Diff(billOfMaterials, string(must(io.ReadAll(r))(t))); diff != "" {
		t.Errorf("%s: bill of materials (-want +got):\n%s", tag, diff)
	}
	return f.registry + "/krmfn/" + image + "@" + referrers.Manifests[0].Digest.String()
}

// must ends the test if there is an error.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return value
	}
}
