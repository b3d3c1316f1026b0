// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package ocilayout_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/krmfn/krmfn/tools/images/internal/ocilayout"
)

var bill = ocilayout.Referrer{
	Title: "image.spdx.json", MediaType: "application/spdx+json", Data: []byte(`{"a": "b"}`), Annotations: map[string]string{"k": "v"},
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	t.Parallel()

	idx := index(t)
	got, err := ocilayout.Read(write(t, idx), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	want, err := idx.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if got.Digest != want || got.Tag != "v1.2.3" {
		t.Errorf("digest %s and tag %s, want %s and v1.2.3", got.Digest, got.Tag, want)
	}
	if err := validate.Index(got.Index); err != nil {
		t.Error(err)
	}
}

func TestReferrerPointsToIndex(t *testing.T) {
	t.Parallel()

	content, err := ocilayout.Read(write(t, index(t)), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if len(content.Referrers) != 1 {
		t.Fatalf("%d referrers, want 1", len(content.Referrers))
	}
	manifest, err := content.Referrers[0].Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if manifest.Subject == nil || manifest.Subject.Digest != content.Digest || manifest.Subject.MediaType != types.OCIImageIndex {
		t.Errorf("subject is %+v, want the index %s", manifest.Subject, content.Digest)
	}
	if manifest.ArtifactType != bill.MediaType || manifest.Config.MediaType != "application/vnd.oci.empty.v1+json" {
		t.Errorf("artifactType %q, config %+v", manifest.ArtifactType, manifest.Config)
	}
	layers, err := content.Referrers[0].Layers()
	if err != nil {
		t.Fatal(err)
	}
	r, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(bill.Data), string(data)); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(bill.Title, manifest.Layers[0].Annotations["org.opencontainers.image.title"]); diff != "" {
		t.Errorf("title (-want +got):\n%s", diff)
	}
}

func TestSameContentGivesSameBytes(t *testing.T) {
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
		t.Error("two files of the same content differ")
	}
}

func TestOtherFilesAreErrors(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "image.tar")
	if _, err := ocilayout.Read(file, t.TempDir()); err == nil {
		t.Error("no file: no error")
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ocilayout.Read(file, t.TempDir()); err == nil {
		t.Error("empty file: no error")
	}
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
	if err := ocilayout.Write(file, "v1.2.3", idx, []ocilayout.Referrer{bill}); err != nil {
		t.Fatal(err)
	}
	return file
}
