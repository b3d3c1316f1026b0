// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// childOf returns the digest of the i-th manifest of an index.
func childOf(t *testing.T, index v1.ImageIndex, i int) string {
	t.Helper()
	list, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	return list.Manifests[i].Digest.String()
}

// A mirror may have only the images of some platforms.
func TestSparseMirror(t *testing.T) {
	t.Parallel()
	const unknown = `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`
	for name, tc := range map[string]struct {
		lost    []int
		status  int
		body    string
		command string
		want    []string
		kind    string
	}{
		"an image":           {lost: []int{2}, status: 404, body: unknown, command: "/b", want: []string{"linux/arm64"}},
		"the selected image": {lost: []int{1}, status: 404, body: unknown, command: "/a", want: []string{"linux/amd64"}},
		"two images":         {lost: []int{0, 1}, status: 404, body: unknown, command: "/b", want: []string{"linux/s390x"}},
		"all images":         {lost: []int{0, 1, 2}, status: 404, body: unknown, kind: "not found"},
		"an ingress":         {lost: []int{2}, status: 404, body: "default backend", kind: "other"},
		"no access":          {lost: []int{2}, status: 403, body: denied, kind: "unauthorized"},
		"failure":            {lost: []int{2}, status: 500, kind: "other"},
		"too many":           {lost: []int{2}, status: 429, kind: "throttled"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			index := newIndex(t, "linux/amd64 /a", "linux/arm64 /b", "linux/s390x /b")
			pushed := s.push(t, "v1", index)
			s.answer(func(w http.ResponseWriter, r *http.Request) bool {
				for _, i := range tc.lost {
					if strings.HasSuffix(r.URL.Path, "/manifests/"+childOf(t, index, i)) {
						w.WriteHeader(tc.status)
						_, _ = io.WriteString(w, tc.body)
						return true
					}
				}
				return false
			})
			got, err := s.client(registry.Options{Architecture: "arm64"}).Image(t.Context(), s.ref("v1"), pushed)
			if tc.kind != "" {
				if err == nil || kind(err) != tc.kind {
					t.Errorf("Image() = %s: %v; want %s", kind(err), err, tc.kind)
				}
				return
			}
			want := registry.Image{Reference: s.ref("v1"), Digest: pushed, Command: []string{tc.command}, Platforms: tc.want}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Image() = %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// A missing nested index is ignored, too. A missing config is an error.
func TestSparseIndexes(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	inner := newIndex(t, "linux/arm64 /b")
	index := mutate.AppendManifests(newIndex(t, "linux/amd64 /a"), mutate.IndexAddendum{Add: inner})
	pushed := s.push(t, "v1", index)
	c := s.client(registry.Options{Architecture: "arm64"})
	if got, err := c.Image(t.Context(), s.ref("v1"), pushed); err != nil || got.Command[0] != "/b" {
		t.Errorf("Image() = %+v, %v", got, err)
	}
	s.answer(always("/manifests/"+childOf(t, index, 1), http.StatusNotFound, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`))
	if got, err := c.Image(t.Context(), s.ref("v1"), pushed); err != nil || got.Command[0] != "/a" {
		t.Errorf("Image() = %+v, %v", got, err)
	}
	s.answer(always("/blobs/", http.StatusNotFound, `{"errors":[{"code":"BLOB_UNKNOWN"}]}`))
	if got, err := c.Image(t.Context(), s.ref("v1"), pushed); kind(err) != "not found" {
		t.Errorf("Image() = %+v, %v; want a NotFoundError", got, err)
	}
}

// many returns the digest of an index of n images, each for another platform. The registry has only the last one, for arm64.
func many(t *testing.T, s *server, n int, mediaType types.MediaType) string {
	t.Helper()
	image := newImage(t, "linux/arm64", runs("/fn"))
	s.push(t, "one", image)
	last, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	children := make([]string, 0, n)
	for i := range n - 1 {
		children = append(children, fmt.Sprintf(`{"mediaType":%q,"size":1,"digest":"sha256:%064x","platform":{"os":"linux","architecture":"a%d"}}`,
			mediaType, i, i))
	}
	children = append(children, fmt.Sprintf(`{"mediaType":%q,"size":1,"digest":%q,"platform":{"os":"linux","architecture":"arm64"}}`,
		types.OCIManifestSchema1, last))
	body := `{"schemaVersion":2,"manifests":[` + strings.Join(children, ",") + `]}`
	// The registry rejects an index whose images it does not have, so the test serves it.
	s.answer(serves(types.OCIImageIndex, body))
	return sum([]byte(body))
}

// serves responds with a manifest that was not pushed.
func serves(mediaType types.MediaType, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasSuffix(r.URL.Path, "/manifests/"+sum([]byte(body))) {
			return false
		}
		w.Header().Set("Content-Type", string(mediaType))
		_, _ = io.WriteString(w, body)
		return true
	}
}

func TestLargeIndexes(t *testing.T) {
	t.Parallel()
	for mediaType, most := range map[types.MediaType]int{types.OCIManifestSchema1: 64, types.OCIImageIndex: 17} {
		t.Run(string(mediaType), func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			pushed := many(t, s, 10_000, mediaType)
			got, err := s.client(registry.Options{Architecture: "arm64"}).Image(t.Context(), s.ref("v1"), pushed)
			want := registry.Image{Reference: s.ref("v1"), Digest: pushed, Command: []string{"/fn"}, Platforms: []string{"linux/arm64"}}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Image() = %v (-want +got):\n%s", err, diff)
			}
			// In addition to the images: a ping, the index, and one config.
			if asked := s.asked(); len(asked) != most+3 {
				t.Errorf("%d requests, want %d", len(asked), most+3)
			}
		})
	}
}

func TestPlatformsAreBounded(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	image := newImage(t, "linux/amd64", runs("fn"))
	var index v1.ImageIndex = empty.Index
	for i := range 70 {
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: "amd64", Variant: strconv.Itoa(i)}},
		})
	}
	got, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), s.push(t, "v1", index))
	if err != nil || len(got.Platforms) != 64 || got.Platforms[63] != "linux/amd64/63" {
		t.Errorf("Image() = %d platforms, error %v; want 64", len(got.Platforms), err)
	}
}
