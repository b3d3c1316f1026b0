// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package mirror_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/krmfn/internal/mirror"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An answer that breaks off is asked for again, and what the layout has in the end is whole.
func TestCopyIsRepeated(t *testing.T) {
	t.Parallel()
	inner := ociregistry.New(ociregistry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0)))
	var broken atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") && broken.CompareAndSwap(true, false) {
			w.Header().Set("Content-Length", "64")
			_, _ = w.Write([]byte("cut"))
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	ref := strings.TrimPrefix(server.URL, "http://") + "/fn:v1"
	index, err := random.Index(64, 1, 1)
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
	client := registry.NewClient(registry.Options{})
	t.Cleanup(client.Close)
	dir := filepath.Join(t.TempDir(), "images")
	target, err := mirror.Open("oci:"+dir, client)
	if err != nil {
		t.Fatal(err)
	}
	if mirror.Has(t.Context(), ref, digest.String(), target) {
		t.Error("the copy is there before it was made")
	}
	broken.Store(true)
	if err := mirror.Copy(t.Context(), client, ref, digest.String(), target); err != nil {
		t.Fatal(err)
	}
	if broken.Load() || !mirror.Has(t.Context(), ref, digest.String(), target) {
		t.Error("the copy is not there, or nothing broke off")
	}
	written, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(written); err != nil {
		t.Errorf("the layout is not whole: %v", err)
	}
	if err := mirror.Copy(t.Context(), client, strings.Replace(ref, "/fn:", "/gone:", 1), digest.String(), target); err == nil {
		t.Error("no error for an image that is not there")
	}
}

func TestName(t *testing.T) {
	t.Parallel()
	digest := "@sha256:" + strings.Repeat("a", 64)
	target, err := mirror.Open("r.io/m/", nil)
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]string{
		"ghcr.io/a/b:v1":      "r.io/m/ghcr.io/a/b:v1",
		"alpine":              "r.io/m/docker.io/library/alpine:latest",
		"localhost:5000/a:v1": "r.io/m/localhost-5000/a:v1",
		"q.io/a:v1" + digest:  "r.io/m/q.io/a:v1" + digest,
		"q.io/a" + digest:     "r.io/m/q.io/a" + digest,
	} {
		if got, err := target.Name(ref); err != nil || got != want {
			t.Errorf("of %s: got %s, %v, want %s", ref, got, err, want)
		}
	}
	for _, ref := range []string{"q.io/UPPER:v1", "q.io/" + strings.Repeat("a", 250) + ":v1"} {
		if got, err := target.Name(ref); err == nil {
			t.Errorf("of %s: got %s", ref, got)
		}
	}
}
