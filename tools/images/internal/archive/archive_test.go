// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/tools/images/internal/archive"
)

func TestWhatIsPackedIsUnpacked(t *testing.T) {
	t.Parallel()

	want := []archive.File{
		{Name: "a", Mode: 0o644, Data: []byte("one")},
		{Name: "b/c", Mode: 0o644, Data: []byte{}},
		{Name: "b/d", Mode: 0o644, Data: []byte("two")},
	}
	var buf bytes.Buffer
	if err := archive.Tar(&buf, time.Unix(7, 9), want); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := archive.Unpack(write(t, buf.Bytes()), dir); err != nil {
		t.Fatal(err)
	}
	got, err := archive.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSameFilesGiveSameBytes(t *testing.T) {
	t.Parallel()

	files := []archive.File{{Name: "a", Mode: 0o755, Data: []byte("one")}}
	var first, second bytes.Buffer
	for _, buf := range []*bytes.Buffer{&first, &second} {
		if err := archive.TarGz(buf, time.Unix(7, 0), files); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("two archives of the same files differ")
	}
}

func TestUnpackRefuses(t *testing.T) {
	t.Parallel()

	tests := map[string][]tar.Header{
		"a file outside":    {{Name: "../evil", Typeflag: tar.TypeReg}},
		"an absolute path":  {{Name: "/tmp/evil", Typeflag: tar.TypeReg}},
		"a link":            {{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/"}},
		"a file twice":      {{Name: "a", Typeflag: tar.TypeReg}, {Name: "a", Typeflag: tar.TypeReg}},
		"a file as a place": {{Name: "a", Typeflag: tar.TypeReg}, {Name: "a/b", Typeflag: tar.TypeReg}},
	}
	for name, headers := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var buf bytes.Buffer
			w := tar.NewWriter(&buf)
			for _, header := range headers {
				if err := w.WriteHeader(&header); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if err := archive.Unpack(write(t, buf.Bytes()), t.TempDir()); err == nil {
				t.Error("no error")
			}
		})
	}
}

func write(t *testing.T, data []byte) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "archive.tar")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
