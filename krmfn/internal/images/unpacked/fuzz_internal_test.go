// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// blob is a layer in a registry, compressed or not.
type blob []byte

func (b blob) Digest() (v1.Hash, error) {
	hash, _, err := v1.SHA256(bytes.NewReader(b))
	return hash, err
}
func (b blob) Compressed() (io.ReadCloser, error)  { return io.NopCloser(bytes.NewReader(b)), nil }
func (b blob) Size() (int64, error)                { return int64(len(b)), nil }
func (b blob) MediaType() (types.MediaType, error) { return types.OCILayer, nil }

// hostileLayers returns layers that try to write outside the directory, or to exceed the limits.
func hostileLayers(t testing.TB, outside string) [][]byte {
	t.Helper()
	link := func(kind byte, name, target string) []byte {
		var packed bytes.Buffer
		if err := tar.NewWriter(&packed).WriteHeader(&tar.Header{Typeflag: kind, Name: name, Linkname: target}); err != nil {
			t.Fatal(err)
		}
		return packed.Bytes()
	}
	file := func(name string) []byte { return tarEntry(t, tar.TypeReg, name, 5, "PWNED") }
	up := strings.Repeat("../", 40) + strings.TrimPrefix(outside, "/")
	return [][]byte{
		file("fn"), file("/fn"), file("../../victim"), file(up + "/victim"), file("a/../../victim"), tarEntry(t, tar.TypeDir, "../new", 0, ""),
		slices.Concat(link(tar.TypeSymlink, "out", outside), file("out/victim"), file("out/new"), file("out/.wh.victim"), file("out/.wh..wh..opq")),
		slices.Concat(link(tar.TypeSymlink, "out", ".."), file("out/victim"), link(tar.TypeSymlink, "deep/out", "../.."), file("deep/out/victim")),
		slices.Concat(link(tar.TypeSymlink, "a", "b"), link(tar.TypeSymlink, "b", "a"), file("a/fn")),
		slices.Concat(link(tar.TypeSymlink, "victim", up+"/victim"), file("victim"), link(tar.TypeLink, "hard", "victim"), file("hard")),
		slices.Concat(link(tar.TypeLink, "hard", "../victim"), file("hard")), slices.Concat(link(tar.TypeLink, "hard", outside+"/victim"), file("hard")),
		file(".wh..."), file("../.wh.victim"), file(".wh.."), slices.Concat(file("a/b"), file("a/.wh..wh..opq")),
		slices.Concat(link(tar.TypeSymlink, "dev", "/etc"), link(tar.TypeSymlink, "proc", outside), link(tar.TypeSymlink, "tmp", "..")),
		tarEntry(t, tar.TypeBlock, "sda", 0, ""), tarEntry(t, tar.TypeChar, "mem", 0, ""), tarEntry(t, tar.TypeFifo, "pipe", 0, ""),
		tarEntry(t, tar.TypeReg, "large", 1<<40, "x"), tarEntry(t, 'Z', "unknown", 1<<20, strings.Repeat("\x00", 4096)),
		append(paxRecords(t, "size=1099511627776"), file("large")...), append(paxRecords(t, "path="+strings.Repeat("d/", 45)), file("deep")...),
		slices.Concat(paxRecords(t, "GNU.sparse.major=1", "GNU.sparse.minor=0", "GNU.sparse.name=a", "GNU.sparse.realsize=1099511627776"), tarEntry(t, tar.TypeReg, "a", 512, "0\n")),
		bytes.Repeat(tarEntry(t, tar.TypeReg, "empty", 0, ""), 40), bytes.Repeat(paxRecords(t, "comment=nothing"), 40),
	}
}

const fuzzBytes, fuzzEntries = 16 << 10, 32

// unpackHostile unpacks a layer. It checks that the result is inside the directory and within the limits, and consists of files,
// directories and links. outside contains the directory and a file.
func unpackHostile(t *testing.T, outside string, layer []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(outside, "victim"), []byte("intact"), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(outside, "root")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	l, err := partial.CompressedToLayer(blob(layer))
	if err != nil {
		t.Fatal(err)
	}
	_ = newTree(root, fuzzBytes, fuzzEntries).applyLayer(t.Context(), l, v1.Hash{})
	content, err := os.ReadFile(filepath.Join(outside, "victim"))
	if entries, _ := os.ReadDir(outside); err != nil || string(content) != "intact" || len(entries) != 2 {
		t.Errorf("files outside = %v, content of the file = %q, error %v", entries, content, err)
	}
	if size, count := unpackedSize(t, dir); size > fuzzBytes || count > fuzzEntries {
		t.Errorf("unpacked %d bytes in %d files, want at most %d and %d", size, count, fuzzBytes, fuzzEntries)
	}
}

func TestHostileLayers(t *testing.T) {
	t.Parallel()
	for i := range hostileLayers(t, "") {
		outside := t.TempDir()
		unpackHostile(t, outside, hostileLayers(t, outside)[i])
	}
}

// FuzzLayer unpacks arbitrary bytes as a layer. It corrects the checksums of headers, so that more of them are accepted.
func FuzzLayer(f *testing.F) {
	for _, layer := range hostileLayers(f, "/etc") {
		f.Add(layer)
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(layer)
		_ = w.Close()
		f.Add(packed.Bytes())
		f.Add(packed.Bytes()[:packed.Len()/2])
	}
	f.Fuzz(func(t *testing.T, layer []byte) {
		layer = slices.Clone(layer)
		for block := range slices.Chunk(layer, 512) {
			if len(block) == 512 && string(block[257:262]) == "ustar" {
				checksum(block)
			}
		}
		unpackHostile(t, t.TempDir(), layer)
	})
}

// unpackedSize returns the size of the files in a directory, counting hard links once, and the number of entries.
func unpackedSize(t *testing.T, dir string) (size int64, count int) {
	t.Helper()
	seen := map[uint64]bool{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		count++
		if mode := info.Mode(); mode&^(fs.ModeDir|fs.ModeSymlink|fs.ModePerm) != 0 || mode.IsRegular() && mode.Perm()&0o022 != 0 {
			t.Errorf("mode of %s = %v", path, mode)
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if ok && info.Mode().IsRegular() && !seen[stat.Ino] {
			seen[stat.Ino] = true
			size += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return size, count
}
