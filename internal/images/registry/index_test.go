// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// newIndex returns an index. Each image is "PLATFORM COMMAND USER", of which command and user are optional, with a unique label. The
// platform "-" means none, and a platform with "?" is in the config only.
func newIndex(t *testing.T, images ...string) v1.ImageIndex {
	t.Helper()
	var index v1.ImageIndex = empty.Index
	for _, image := range images {
		words := append(strings.Fields(image), "/fn", "")
		if len(words) > 3 {
			words = words[:len(words)-2]
		}
		platform, unsaid := strings.CutSuffix(strings.TrimPrefix(words[0], "-"), "?")
		config := runs(words[1])
		config.Labels = map[string]string{"of": image}
		if len(words) > 2 {
			config.User = words[2]
		}
		added := mutate.IndexAddendum{Add: newImage(t, platform, config)}
		if platform != "" && !unsaid {
			parsed, err := v1.ParsePlatform(platform)
			if err != nil {
				t.Fatal(err)
			}
			added.Platform = parsed
		}
		index = mutate.AppendManifests(index, added)
	}
	return index
}

// within nests an index in others, the given number of times.
func within(index v1.ImageIndex, times int) v1.ImageIndex {
	for range times {
		index = mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index})
	}
	return index
}

func TestIndex(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		images  []string
		docker  bool
		within  int
		command string
		user    string
		want    string
		err     string
	}{
		"same":             {images: []string{"linux/amd64", "linux/arm64/v8"}, command: "/fn", want: "linux/amd64 linux/arm64/v8"},
		"other command":    {images: []string{"linux/amd64 /a", "linux/arm64 /b", "linux/s390x /b"}, command: "/b", want: "linux/arm64 linux/s390x"},
		"other user":       {images: []string{"linux/amd64 /a", "linux/arm64 /a 65532"}, command: "/a", user: "65532", want: "linux/arm64"},
		"no command there": {images: []string{"linux/amd64 /a", "linux/s390x /none"}, command: "/a", want: "linux/amd64"},
		"first":            {images: []string{"linux/s390x /a", "linux/amd64 /b"}, command: "/a", want: "linux/s390x"},
		"docker":           {images: []string{"linux/amd64", "linux/arm64"}, docker: true, command: "/fn", want: "linux/amd64 linux/arm64"},
		"not linux":        {images: []string{"windows/arm64", "linux/s390x", "linux/amd64"}, command: "/fn", want: "linux/s390x linux/amd64"},
		"attestations":     {images: []string{"unknown/unknown", "linux/amd64", "unknown/unknown x"}, command: "/fn", want: "linux/amd64"},
		"unsaid":           {images: []string{"-"}, command: "/fn"},
		"unsaid first":     {images: []string{"- /a", "linux/arm64 /b"}, command: "/b", want: "linux/arm64"},
		"config says":      {images: []string{"linux/amd64? /a", "linux/arm64? /b", "windows/arm64? /c"}, command: "/b", want: "linux/arm64"},
		"twice":            {images: []string{"linux/arm64 /a", "linux/arm64 /b", "linux/amd64 /b"}, command: "/a", want: "linux/arm64"},
		"windows":          {images: []string{"windows/amd64", "darwin/arm64"}, err: "only windows/amd64, darwin/arm64: build it for linux"},
		"windows in fact":  {images: []string{"windows/amd64?"}, err: "only windows/amd64: build it for linux"},
		"nothing":          {images: []string{"unknown/unknown"}, err: "it has no image: build it for linux"},
		"odd platform":     {images: []string{"linux/" + strings.Repeat("x", 200)}, err: "it has no image"},
		"within":           {images: []string{"linux/amd64", "linux/arm64"}, within: 1, command: "/fn", want: "linux/amd64 linux/arm64"},
		"deep within":      {images: []string{"linux/amd64?", "linux/arm64?"}, within: 2, command: "/fn", want: "linux/amd64 linux/arm64"},
		"too deep within":  {images: []string{"linux/amd64"}, within: 3, err: "it has no image"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			index := newIndex(t, tc.images...)
			if tc.docker {
				index = mutate.IndexMediaType(index, types.DockerManifestList)
			}
			pushed := s.push(t, "v1", within(index, tc.within))
			c := s.client(registry.Options{Architecture: "arm64"})
			if got, err := c.Digest(t.Context(), s.ref("v1")); err != nil || got != pushed {
				t.Errorf("Digest() = %q, %v; want the index's digest %q", got, err, pushed)
			}
			got, err := c.Image(t.Context(), s.ref("v1"), pushed)
			if tc.err != "" {
				if kind(err) != "unusable" || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("Image() = %v, want %q", err, tc.err)
				}
				return
			}
			want := registry.Image{Reference: s.ref("v1"), Digest: pushed, Command: []string{tc.command}, User: tc.user}
			if tc.want != "" {
				want.Platforms = strings.Fields(tc.want)
			}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Image() = %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// An image that cannot run is an error only if it is selected.
func TestIndexWithAnUnusableImage(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	index := newIndex(t, "linux/amd64 /a")
	index = mutate.AppendManifests(index, mutate.IndexAddendum{
		Add: newImage(t, "linux/arm64", v1.Config{}), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "arm64"}},
	})
	pushed := s.push(t, "v1", index)
	got, err := s.client(registry.Options{Architecture: "amd64"}).Image(t.Context(), s.ref("v1"), pushed)
	if err != nil || cmp.Diff([]string{"linux/amd64"}, got.Platforms) != "" {
		t.Errorf("Image() = %+v, %v", got, err)
	}
	_, err = s.client(registry.Options{Architecture: "arm64"}).Image(t.Context(), s.ref("v1"), pushed)
	if kind(err) != "unusable" || !strings.Contains(err.Error(), "neither an entrypoint nor a cmd") {
		t.Errorf("Image() = %v", err)
	}
}

// Image reads manifests and configs, each once.
func TestRequestsOfAnIndex(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	index := newIndex(t, "linux/amd64", "linux/arm64", "windows/amd64", "unknown/unknown")
	pushed := s.push(t, "v1", within(index, 1))
	if _, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), pushed); err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, one := range s.asked() {
		count[one]++
	}
	if diff := cmp.Diff(map[string]int{"GET": 1, "GET manifests/sha256": 4, "GET blobs/sha256": 2}, count); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}
