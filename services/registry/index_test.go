// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"cmp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/services/registry"
)

// newIndex makes an index of images whose command is their platform; "" is one that the index says nothing of.
func newIndex(t *testing.T, platforms ...string) v1.ImageIndex {
	t.Helper()
	var index v1.ImageIndex = empty.Index
	for _, platform := range platforms {
		added := mutate.IndexAddendum{Add: newImage(t, platform, runs(cmp.Or(platform, "!")))}
		if platform != "" {
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

func TestIndex(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		platforms []string
		docker    bool
		command   string
		want      []string
		err       string
	}{
		"own":          {platforms: []string{"linux/amd64", "linux/arm64/v8"}, command: "linux/arm64/v8", want: []string{"linux/amd64", "linux/arm64/v8"}},
		"docker":       {platforms: []string{"linux/amd64", "linux/arm64"}, docker: true, command: "linux/arm64", want: []string{"linux/amd64", "linux/arm64"}},
		"other":        {platforms: []string{"windows/arm64", "linux/s390x", "linux/amd64"}, command: "linux/s390x", want: []string{"windows/arm64", "linux/s390x", "linux/amd64"}},
		"attestations": {platforms: []string{"unknown/unknown", "linux/amd64", "unknown/unknown"}, command: "linux/amd64", want: []string{"linux/amd64"}},
		"unsaid":       {platforms: []string{""}, command: "!"},
		"said first":   {platforms: []string{"", "linux/arm64"}, command: "linux/arm64", want: []string{"linux/arm64"}},
		"windows":      {platforms: []string{"windows/amd64", "darwin/arm64"}, err: "only windows/amd64, darwin/arm64: build it for linux"},
		"nothing":      {platforms: []string{"unknown/unknown"}, err: "it has no image: build it for linux"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			index := newIndex(t, tc.platforms...)
			if tc.docker {
				index = mutate.IndexMediaType(index, types.DockerManifestList)
			}
			pushed := s.push(t, "v1", index)
			c := s.client(registry.Options{Architecture: "arm64"})
			if got, err := c.Digest(t.Context(), s.ref("v1")); err != nil || got != pushed {
				t.Errorf("Digest = %q, %v; want the index's own %q", got, err, pushed)
			}
			got, err := c.Image(t.Context(), s.ref("v1"), pushed)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("Image: %v; want %q", err, tc.err)
				}
				return
			}
			want := registry.Image{Reference: s.ref("v1"), Digest: pushed, Command: []string{tc.command}, Platforms: tc.want}
			if diff := gocmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Image: %v; %s", err, diff)
			}
		})
	}
}

func TestPlatformsAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var index v1.ImageIndex = empty.Index
	for range 70 {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: newImage(t, "linux/amd64", runs("fn")), Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64"}},
		})
	}
	got, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), s.push(t, "v1", index))
	if err != nil || len(got.Platforms) != 64 {
		t.Errorf("Image has %d platforms, %v", len(got.Platforms), err)
	}
}
