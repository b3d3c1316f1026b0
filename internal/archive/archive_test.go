// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/archive"
)

func TestTarGz(t *testing.T) {
	t.Parallel()

	want := []archive.File{
		{Name: "a", Mode: 0o755, Data: []byte("one")},
		{Name: "b/c", Mode: 0o644, Data: []byte{}},
		{Name: "b/d", Mode: 0o644, Data: []byte("two")},
	}
	var buf bytes.Buffer
	if err := archive.TarGz(&buf, time.Unix(7, 9), want); err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(&buf)
	if err != nil {
		t.Fatal(err)
	}
	var got []archive.File
	for r := tar.NewReader(z); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if !header.ModTime.Equal(time.Unix(7, 0)) || header.Uid != 0 || header.Uname != "" {
			t.Errorf("%s: time = %s, user = %d %q, want second 7 and user 0 without a name", header.Name, header.ModTime, header.Uid, header.Uname)
		}
		got = append(got, archive.File{Name: header.Name, Mode: header.Mode, Data: data})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestEqualFilesGiveEqualBytes(t *testing.T) {
	t.Parallel()

	files := []archive.File{{Name: "a", Mode: 0o755, Data: []byte("one")}}
	var first, second bytes.Buffer
	for _, buf := range []*bytes.Buffer{&first, &second} {
		if err := archive.TarGz(buf, time.Unix(7, 0), files); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("archives of equal files differ")
	}
}
