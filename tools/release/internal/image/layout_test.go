// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package image_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/content/oci"

	"github.com/krmfn/krmfn/tools/release/internal/image"
)

var bill = image.Referrer{
	Title: "image.spdx.json", MediaType: "application/spdx+json", Data: []byte(`{"a": "b"}`), Annotations: map[string]string{"k": "v"},
}

func TestWriteArchive(t *testing.T) {
	t.Parallel()

	idx := index(t)
	want, err := idx.Digest()
	if err != nil {
		t.Fatal(err)
	}
	// ExtendedCopy verifies all digests.
	got, err := oras.ExtendedCopy(t.Context(), open(t, idx), "v1.2.3", memory.New(), "", oras.DefaultExtendedCopyOptions)
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest.String() != want.String() {
		t.Errorf("digest of v1.2.3 = %s, want %s", got.Digest, want)
	}
}

func TestReferrerPointsToIndex(t *testing.T) {
	t.Parallel()

	layout := open(t, index(t))
	subject, err := layout.Resolve(t.Context(), "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	referrers, err := layout.Predecessors(t.Context(), subject)
	if err != nil {
		t.Fatal(err)
	}
	if len(referrers) != 1 {
		t.Fatalf("got %d referrers, want 1", len(referrers))
	}
	data, err := content.FetchAll(t.Context(), layout, referrers[0])
	if err != nil {
		t.Fatal(err)
	}
	var manifest ocispec.Manifest
	if err := json.Unmarshal(data, &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.Subject == nil || manifest.Subject.Digest != subject.Digest || manifest.Subject.MediaType != ocispec.MediaTypeImageIndex {
		t.Errorf("subject = %+v, want the index %s", manifest.Subject, subject.Digest)
	}
	if manifest.ArtifactType != bill.MediaType || manifest.Config.MediaType != "application/vnd.oci.empty.v1+json" {
		t.Errorf("artifact type = %q, config = %+v, want the type of the bill of materials and the empty config", manifest.ArtifactType, manifest.Config)
	}
	if diff := cmp.Diff(bill.Title, manifest.Layers[0].Annotations["org.opencontainers.image.title"]); diff != "" {
		t.Errorf("title (-want +got):\n%s", diff)
	}
	if data, err = content.FetchAll(t.Context(), layout, manifest.Layers[0]); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(bill.Data), string(data)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

func TestEqualContentGivesEqualBytes(t *testing.T) {
	t.Parallel()

	idx := index(t)
	var files [2][]byte
	for i := range files {
		var err error
		if files[i], err = os.ReadFile(write(t, idx)); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("archives of equal content differ")
	}
}

func open(t *testing.T, idx v1.ImageIndex) *oci.ReadOnlyStore {
	t.Helper()
	layout, err := oci.NewFromTar(t.Context(), write(t, idx))
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

func index(t *testing.T) v1.ImageIndex {
	t.Helper()
	idx, err := random.Index(100, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	return idx
}

func write(t *testing.T, idx v1.ImageIndex) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	if err := image.WriteArchive(file, "v1.2.3", idx, []image.Referrer{bill}); err != nil {
		t.Fatal(err)
	}
	return file
}
