// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/crane"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/krmfn/krmfn/e2e/registry/publish"
)

func TestPinnedAndRetaggedImagesAreTheSame(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(slog.NewLogLogger(slog.DiscardHandler, 0))))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	for _, image := range Images {
		made, err := random.Image(10, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := publish.Push(t.Context(), reference(address, image, publish.Tag), made); err != nil {
			t.Fatal(err)
		}
	}
	pinned, err := pin(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := pin(t.Context(), address); err != nil || again != pinned {
		t.Errorf("second pin() = %s, %v, want %s", again, err, pinned)
	}
	next, err := (&Installation{Registry: address, tag: pinned}).Retag(t.Context(), "next")
	if err != nil || next != pinned+"-next" {
		t.Errorf("Retag() = %s, %v, want %s-next", next, err, pinned)
	}
	for _, image := range Images {
		for _, tag := range []string{pinned, next} {
			want, err := crane.Digest(reference(address, image, publish.Tag), crane.Insecure)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := crane.Digest(reference(address, image, tag), crane.Insecure); err != nil || got != want {
				t.Errorf("digest of %s:%s = %s, %v, want %s", image, tag, got, err, want)
			}
		}
	}
}
