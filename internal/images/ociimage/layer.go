// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package ociimage

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/internal/archive"
)

// epoch is the timestamp of all files, so that a layer whose files did not change keeps its digest in the next release.
var epoch = time.Unix(0, 0).UTC()

// Files holds the files of a layer by their paths in the image, without the leading slash. All of them belong to root. Missing parent
// directories are added with mode 0755.
type Files map[string]File

// File is a file of a layer. Use one of the functions below to create it.
type File struct {
	entry archive.File
	// source is the path on this machine of the content. If it is empty, entry has the content.
	source string
}

// Copy returns a copy of a file on this machine.
func Copy(source string, mode int64) File { return File{archive.File{Mode: mode}, source} }

// Bytes returns a file with the given content.
func Bytes(content []byte, mode int64) File {
	return File{entry: archive.File{Mode: mode, Data: content}}
}

// Directory returns a directory, for modes other than 0755 and for empty directories.
func Directory(mode int64) File { return File{entry: archive.File{Type: tar.TypeDir, Mode: mode}} }

// Symlink returns a symbolic link.
func Symlink(target string) File {
	return File{entry: archive.File{Type: tar.TypeSymlink, Mode: 0o777, Link: target}}
}

// Hardlink returns another name of a file in the same layer. The target is its path in the image, which must sort before the path of the
// link.
func Hardlink(target string) File {
	return File{entry: archive.File{Type: tar.TypeLink, Mode: 0o555, Link: target}}
}

// Source returns the path on this machine of an executable file's content. It returns "" for other files.
func (f File) Source() string {
	if f.entry.Mode&0o111 == 0 {
		return ""
	}
	return f.source
}

// Layer packs files, sorted by path.
func Layer(files Files) (v1.Layer, error) {
	all := files.withParents()
	entries := make([]archive.File, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		file := all[name]
		entry := file.entry
		entry.Name = name
		if entry.Type == tar.TypeDir {
			entry.Name += "/"
		}
		if file.source != "" {
			var err error
			if entry.Data, err = os.ReadFile(file.source); err != nil {
				return nil, fmt.Errorf("layer: %s: %w", name, err)
			}
		}
		entries = append(entries, entry)
	}
	var packed bytes.Buffer
	if err := archive.Tar(&packed, epoch, entries); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// withParents adds the missing parent directories.
func (f Files) withParents() Files {
	all := maps.Clone(f)
	for name := range f {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, found := all[dir]; !found {
				all[dir] = Directory(0o755)
			}
		}
	}
	return all
}
