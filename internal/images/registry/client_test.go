// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/internal/images/registry"
)

const (
	hex    = "85913d4ec8db62053eb060ff1b7e26d13ff8853b75cae4d0461b8a1c7ddd4947"
	digest = "sha256:" + hex
)

func TestDigest(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	one := s.push(t, "v1", newImage(t, "", runs("/one")))
	c := s.client(registry.Options{})
	for _, tag := range []string{"v1", "V1_Beta.2-RC", "_internal"} {
		s.push(t, tag, newImage(t, "", runs("/one")))
		if got, err := c.Digest(t.Context(), s.ref(tag)); err != nil || got != one {
			t.Errorf("Digest() of tag %s = %q, %v; want %q", tag, got, err, one)
		}
	}
	// The client pings the registry once.
	if diff := cmp.Diff([]string{"HEAD manifests/_internal"}, s.asked()); diff != "" {
		t.Errorf("requests for the third tag (-want +got):\n%s", diff)
	}
	two := s.push(t, "v1", newImage(t, "", runs("/two")))
	if got, err := c.Digest(t.Context(), s.ref("v1")); err != nil || got != two || one == two {
		t.Errorf("Digest() of the moved tag = %q, %v; want %q", got, err, two)
	}
	s.push(t, "latest", newImage(t, "", runs("/two")))
	if got, err := c.Digest(t.Context(), s.host+"/team/fn"); err != nil || got != two {
		t.Errorf("Digest() without a tag = %q, %v; want %q", got, err, two)
	}
}

func TestDigestOfReferenceByDigest(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.client(registry.Options{})
	for _, ref := range []string{s.host + "/team/fn@" + digest, s.ref("v1") + "@" + digest, "fn@" + digest} {
		if got, err := c.Digest(t.Context(), ref); err != nil || got != digest {
			t.Errorf("Digest(%q) = %q, %v", ref, got, err)
		}
	}
	if asked := s.asked(); len(asked) > 0 {
		t.Errorf("requests for a digest = %v, want none", asked)
	}
}

func TestDigestWithoutHead(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]func(http.ResponseWriter){
		"refused":     func(w http.ResponseWriter) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"unknown":     func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotImplemented) },
		"no headers":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusOK) },
		"bad headers": func(w http.ResponseWriter) { w.Header().Set("Docker-Content-Digest", "md5:1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			want := s.push(t, "v1", newImage(t, "", runs("/one")))
			s.answer(func(w http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodHead {
					head(w)
				}
				return r.Method == http.MethodHead
			})
			if got, err := s.client(registry.Options{}).Digest(t.Context(), s.ref("v1")); err != nil || got != want {
				t.Errorf("Digest() = %q, %v; want %q", got, err, want)
			}
		})
	}
}

func TestInvalidReferences(t *testing.T) {
	t.Parallel()
	c := registry.NewClient(registry.Options{})
	defer c.Close()
	for _, ref := range []string{"", "UPPER", "r.io/x:", "r.io/x@", "r.io/x@sha256:12", "r.io/x@md5:" + hex, "r.io/a b", hex, "https://r.io/x"} {
		if got, err := c.Digest(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "is invalid") {
			t.Errorf("Digest(%q) = %q, %v; want an error", ref, got, err)
		}
	}
	if _, err := c.Image(t.Context(), "r.io/x", "sha256:12"); err == nil || !strings.Contains(err.Error(), "digest") {
		t.Errorf("Image() of an invalid digest = %v", err)
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		config    v1.Config
		platform  string
		mediaType types.MediaType
		want      registry.Image
		err       string
	}{
		"entrypoint": {config: runs("/fn", "-x"), want: registry.Image{Command: []string{"/fn", "-x"}}},
		"cmd":        {config: v1.Config{Cmd: []string{"fn"}}, want: registry.Image{Command: []string{"fn"}}},
		"both": {
			config: v1.Config{Entrypoint: []string{"/e", "a"}, Cmd: []string{"c", ""}, User: "65532:0"}, platform: "linux/arm64",
			want: registry.Image{Command: []string{"/e", "a", "c", ""}, User: "65532:0", Platforms: []string{"linux/arm64"}},
		},
		"docker": {
			config: runs("/fn"), platform: "linux/amd64", mediaType: types.DockerManifestSchema2,
			want: registry.Image{Command: []string{"/fn"}, Platforms: []string{"linux/amd64"}},
		},
		"none":     {err: "neither an entrypoint nor a cmd"},
		"empty":    {config: runs(""), err: "neither an entrypoint nor a cmd"},
		"windows":  {config: runs("fn.exe"), platform: "windows/amd64", err: "it has only windows/amd64"},
		"too long": {config: runs("sh", strings.Repeat("x", 64<<10)), err: "longer than 64 KiB"},
		"huge":     {config: runs("sh", strings.Repeat("x", 9<<20)), err: "larger than 8388608 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			image := newImage(t, tc.platform, tc.config)
			if tc.mediaType != "" {
				image = mutate.MediaType(image, tc.mediaType)
			}
			tc.want.Reference, tc.want.Digest = s.ref("v1"), s.push(t, "v1", image)
			got, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), tc.want.Digest)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("Image() = %v, want %q", err, tc.err)
				}
				return
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || err != nil {
				t.Errorf("Image() = %v (-want +got):\n%s", err, diff)
			}
			if want := s.host + "/team/fn@" + tc.want.Digest; got.Pinned() != want {
				t.Errorf("Pinned() = %q, want %q", got.Pinned(), want)
			}
		})
	}
}

func TestPinned(t *testing.T) {
	t.Parallel()
	for _, ref := range []string{"r.io:5000/a/fn", "r.io:5000/a/fn:v1", "r.io:5000/a/fn@sha256:12", "r.io:5000/a/fn:v1@sha256:12"} {
		if got := (registry.Image{Reference: ref, Digest: digest}).Pinned(); got != "r.io:5000/a/fn@"+digest {
			t.Errorf("Pinned() of %q = %q", ref, got)
		}
	}
}

type rawManifest struct {
	body      string
	mediaType types.MediaType
}

func (r rawManifest) RawManifest() ([]byte, error)        { return []byte(r.body), nil }
func (r rawManifest) MediaType() (types.MediaType, error) { return r.mediaType, nil }

func TestUnusableManifests(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		raw  rawManifest
		want string
	}{
		"schema 1":       {rawManifest{`{"schemaVersion":1}`, types.DockerManifestSchema1Signed}, "schema 1"},
		"empty index":    {rawManifest{`{"schemaVersion":2,"manifests":[]}`, types.OCIImageIndex}, "no image"},
		"null":           {rawManifest{`null`, types.OCIManifestSchema1}, "invalid digest"},
		"invalid JSON":   {rawManifest{`{"schemaVersion":"two"}`, "text/html"}, "cannot unmarshal"},
		"missing config": {rawManifest{`{"schemaVersion":2,"config":{"digest":"` + digest + `"}}`, types.OCIManifestSchema1}, "BLOB_UNKNOWN"},
		"no such hash":   {rawManifest{`{"schemaVersion":2,"config":{"digest":"md5:1"}}`, types.OCIManifestSchema1}, "md5"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			pushed := s.push(t, "v1", tc.raw)
			got, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), pushed)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Image() = %v, %v; want an error with %q", got, err, tc.want)
			}
			var unusable *registry.UnusableError
			if name == "schema 1" && (!errors.As(err, &unusable) || unusable.Digest != pushed) {
				t.Errorf("Image() = %T, want an UnusableError of %s", err, pushed)
			}
		})
	}
}

// A client without options uses the default transport, and HTTP for a registry on localhost.
func TestDefaults(t *testing.T) {
	t.Parallel()
	if registry.NewTransport().Proxy == nil {
		t.Error("NewTransport().Proxy = nil, want proxies from the environment")
	}
	inner := ociregistry.New(ociregistry.Logger(discardLog))
	agents := make(chan string, 16)
	plain := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agents <- r.UserAgent()
		inner.ServeHTTP(w, r)
	}))
	plain.Config.ErrorLog = discardLog
	plain.Start()
	t.Cleanup(plain.Close)
	c := registry.NewClient(registry.Options{})
	defer c.Close()
	_, err := c.Digest(t.Context(), strings.TrimPrefix(plain.URL, "http://")+"/team/fn:v1")
	if _, ok := errors.AsType[*registry.NotFoundError](err); !ok {
		t.Errorf("Digest() = %v, want a NotFoundError", err)
	}
	if agent := <-agents; !strings.HasPrefix(agent, "krmfn/") || !strings.Contains(agent, " go-containerregistry") {
		t.Errorf("User-Agent = %q", agent)
	}
}

func TestDefaultArchitecture(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	pushed := s.push(t, "v1", newIndex(t, "linux/s390x /other", "linux/"+runtime.GOARCH))
	got, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), pushed)
	if err != nil || got.Command[0] != "/fn" {
		t.Errorf("Image() = %+v, %v", got, err)
	}
}
