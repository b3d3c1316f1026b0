// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package image

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
)

// epoch is the time of every file, so that the same input gives the same digest, and layers that have not changed are the
// same in the next release.
var epoch = time.Unix(0, 0).UTC()

// files are what a layer holds, by path in the image without the leading slash. All belong to root.
type files map[string]file

// file is a regular file, or a directory or a link where header says so.
type file struct {
	header tar.Header // Typeflag, Mode, Linkname
	source string     // path on this machine of a regular file's content; data where it is empty
	data   []byte
}

// executable copies a file that everybody may run.
func executable(source string) file {
	return file{header: tar.Header{Typeflag: tar.TypeReg, Mode: 0o555}, source: source}
}

// readable copies a file that everybody may read.
func readable(source string) file {
	return file{header: tar.Header{Typeflag: tar.TypeReg, Mode: 0o444}, source: source}
}

// text is a file that everybody may read.
func text(content string) file {
	return file{header: tar.Header{Typeflag: tar.TypeReg, Mode: 0o444}, data: []byte(content)}
}

// directory is needed only for modes other than 0755: the parents of other files come by themselves.
func directory(mode int64) file {
	return file{header: tar.Header{Typeflag: tar.TypeDir, Mode: mode}}
}

// symlink points to a path relative to its own directory, so that it holds wherever that directory is copied to.
func symlink(target string) file {
	return file{header: tar.Header{Typeflag: tar.TypeSymlink, Mode: 0o777, Linkname: target}}
}

// hardlink is another name of a file in the same layer whose path sorts before its own.
func hardlink(target string) file {
	return file{header: tar.Header{Typeflag: tar.TypeLink, Mode: 0o555, Linkname: target}}
}

// layer packs files, sorted by path.
func (f files) layer() (v1.Layer, error) {
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	all := f.withParents()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].write(w, name); err != nil {
			return nil, fmt.Errorf("layer: %s: %w", name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("layer: %w", err)
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(buf.Bytes())), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
}

// withParents adds the directories that the files are in.
func (f files) withParents() files {
	all := maps.Clone(f)
	for name := range f {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if _, found := all[dir]; !found {
				all[dir] = directory(0o755)
			}
		}
	}
	return all
}

// write appends the file to an archive.
func (f file) write(w *tar.Writer, name string) error {
	data := f.data
	if f.source != "" {
		var err error
		if data, err = os.ReadFile(f.source); err != nil {
			return fmt.Errorf("%w; make images builds the commands first", err)
		}
	}
	header := f.header
	header.Name = name
	if header.Typeflag == tar.TypeDir {
		header.Name += "/"
	}
	header.Size = int64(len(data))
	header.ModTime = epoch
	header.Format = tar.FormatPAX
	if err := w.WriteHeader(&header); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}
