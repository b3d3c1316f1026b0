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

	"github.com/krmfn/krmfn/tools/release/internal/archive"
)

// epoch is the time of every file, so that the same input gives the same digest, and layers that have not changed are the
// same in the next release.
var epoch = time.Unix(0, 0).UTC()

// files are what a layer holds, by path in the image without the leading slash. All belong to root.
type files map[string]file

// file is a file of a layer, without its name.
type file struct {
	archive.File

	source string // path on this machine of the content; Data where it is empty
}

func executable(source string) file { return file{archive.File{Mode: 0o555}, source} }

func readable(source string) file { return file{archive.File{Mode: 0o444}, source} }

func text(content string) file { return file{File: archive.File{Mode: 0o444, Data: []byte(content)}} }

// directory is needed only for modes other than 0755: the parents of other files come by themselves.
func directory(mode int64) file { return file{File: archive.File{Type: tar.TypeDir, Mode: mode}} }

// symlink points to a path relative to its own directory, so that it holds wherever that directory is copied to.
func symlink(target string) file {
	return file{File: archive.File{Type: tar.TypeSymlink, Mode: 0o777, Link: target}}
}

// hardlink is another name of a file in the same layer whose path sorts before its own.
func hardlink(target string) file {
	return file{File: archive.File{Type: tar.TypeLink, Mode: 0o555, Link: target}}
}

// layer packs files, sorted by path.
func (f files) layer() (v1.Layer, error) {
	all := f.withParents()
	packed := make([]archive.File, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		file := all[name]
		file.Name = name
		if file.Type == tar.TypeDir {
			file.Name += "/"
		}
		if file.source != "" {
			var err error
			if file.Data, err = os.ReadFile(file.source); err != nil {
				return nil, fmt.Errorf("layer: %s: %w; make images builds the commands first", name, err)
			}
		}
		packed = append(packed, file.File)
	}
	var buf bytes.Buffer
	if err := archive.Tar(&buf, epoch, packed); err != nil {
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
