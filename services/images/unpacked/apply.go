// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	securejoin "github.com/cyphar/filepath-securejoin"
)

const (
	// whiteout begins the name of a file that says that lower layers' file of the rest of the name is gone.
	whiteout = ".wh."
	// opaque is the name of a file that says that all that lower layers have in its directory is gone.
	opaque = ".wh..wh..opq"
)

// tree is the directory that an image is unpacked into. Nobody else uses it meanwhile. Names in it are resolved as they would be
// with the tree as the root, and os.Root refuses what would lead out all the same.
type tree struct {
	*os.Root
	// bytes and entries are the remaining limits of the content of files, and of files and directories. stream is the remaining limit
	// of the uncompressed layers, which also have headers, padding, and entries that are left out.
	bytes, stream int64
	entries       int
}

// maxHeaders limits the average size of an entry's headers and padding.
const maxHeaders = 4 << 10

func newTree(root *os.Root, maxBytes int64, maxEntries int) *tree {
	return &tree{Root: root, bytes: maxBytes, entries: maxEntries, stream: maxBytes + int64(maxEntries)*maxHeaders}
}

// limited reads a layer until the context ends or the tree's limit is reached.
type limited struct {
	ctx  context.Context //nolint:containedctx // it lives as long as one call
	tree *tree
	r    io.Reader
}

func (l *limited) Read(p []byte) (int, error) {
	if err := context.Cause(l.ctx); err != nil {
		return 0, err
	}
	n, err := l.r.Read(p)
	if l.tree.stream -= int64(n); l.tree.stream < 0 {
		return 0, &LimitError{"is larger than images may be"}
	}
	return n, err
}

// layer is the part of a tree that one layer has made.
type layer struct {
	*tree
	// own has what comes from the layer, and the directories in which that is.
	own map[string]bool
}

// apply unpacks a layer's tar over those before it.
func (t *tree) apply(r io.Reader) error {
	l := &layer{tree: t, own: map[string]bool{}}
	archive := tar.NewReader(r)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = t.count()
		}
		if err != nil {
			return err
		}
		if err := l.add(header, archive); err != nil {
			return fmt.Errorf("entry %q: %w", header.Name, err)
		}
	}
}

// count takes one file or directory from the limit.
func (t *tree) count() error {
	if t.entries--; t.entries < 0 {
		return &LimitError{"has more files than images may have"}
	}
	return nil
}

// add unpacks one entry. Devices and pipes are left out, as is who owns a file, and what it could do beyond being read and executed.
func (l *layer) add(header *tar.Header, content io.Reader) error {
	name, err := l.resolve(header.Name)
	if err != nil || name == "." {
		return err
	}
	dir, base := path.Split(name)
	switch {
	case base == opaque:
		return l.clear(path.Clean(dir))
	case strings.HasPrefix(base, whiteout):
		return l.erase(path.Join(dir, strings.TrimPrefix(base, whiteout)))
	}
	l.mark(name)
	switch header.Typeflag {
	case tar.TypeDir:
		return l.directory(name)
	case tar.TypeReg:
		return l.file(name, header, content)
	case tar.TypeSymlink:
		if err := l.RemoveAll(name); err != nil {
			return err
		}
		return l.Symlink(header.Linkname, name)
	case tar.TypeLink:
		target, err := l.resolve(header.Linkname)
		if err != nil || target == name {
			return err
		}
		if err := l.RemoveAll(name); err != nil {
			return err
		}
		return l.Link(target, name)
	}
	return nil
}

// resolve returns where a name of the image is in the tree, with the directory for it made, and the last element not followed.
func (l *layer) resolve(name string) (string, error) {
	name = path.Clean("/" + name)
	if name == "/" {
		return ".", nil
	}
	full, err := securejoin.SecureJoin(l.Name(), path.Dir(name))
	if err != nil {
		return "", err
	}
	dir, err := filepath.Rel(l.Name(), full)
	if err != nil {
		return "", err
	}
	if err := l.makeAll(dir); err != nil {
		return "", err
	}
	return path.Join(dir, path.Base(name)), nil
}

// makeAll makes a directory and those above it, each of which counts: a layer of few entries can name many.
func (t *tree) makeAll(dir string) error {
	if info, err := t.Lstat(dir); err == nil && info.IsDir() {
		return nil
	}
	err := t.makeAll(path.Dir(dir))
	if err == nil {
		err = t.count()
	}
	if err != nil {
		return err
	}
	return t.Mkdir(dir, 0o755)
}

func (l *layer) mark(name string) {
	for ; name != "."; name = path.Dir(name) {
		l.own[name] = true
	}
}

func (t *tree) directory(name string) error {
	if info, err := t.Lstat(name); err == nil && info.IsDir() {
		return nil
	}
	if err := t.RemoveAll(name); err != nil {
		return err
	}
	return t.Mkdir(name, 0o755)
}

func (l *layer) file(name string, header *tar.Header, content io.Reader) error {
	if l.bytes -= header.Size; l.bytes < 0 {
		return &LimitError{"is larger than images may be"}
	}
	if err := l.RemoveAll(name); err != nil {
		return err
	}
	// Whoever the function runs as must be able to read it.
	mode := fs.FileMode(header.Mode)&0o755 | 0o444 //nolint:gosec // nine bits of it
	file, err := l.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	// The process's own mask must not count.
	if err = errors.Join(err, file.Chmod(mode), file.Close()); err != nil {
		return err
	}
	return l.Chtimes(name, header.ModTime, header.ModTime)
}

// erase removes what lower layers have of a name.
func (l *layer) erase(name string) error {
	if base := path.Base(name); base == "." || base == ".." || base == "/" {
		return nil
	}
	if !l.own[name] {
		return l.RemoveAll(name)
	}
	return l.clear(name)
}

// clear removes what lower layers have in a directory.
func (l *layer) clear(dir string) error {
	if info, err := l.Lstat(dir); err != nil || !info.IsDir() {
		return nil //nolint:nilerr // There is nothing to remove.
	}
	entries, err := fs.ReadDir(l.FS(), dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := l.erase(path.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

// finish makes what is mounted over when the image runs, and its working directory.
func (t *tree) finish(workingDir string) error {
	if err := t.RemoveAll("dev"); err != nil {
		return err
	}
	for _, dir := range []string{"dev", "dev/shm", "proc", "tmp"} {
		if err := t.directory(dir); err != nil {
			return err
		}
	}
	for _, device := range []string{"null", "zero", "full", "random", "urandom"} {
		if err := t.WriteFile("dev/"+device, nil, 0o444); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"fd": "", "stdin": "/0", "stdout": "/1", "stderr": "/2"} {
		if err := t.Symlink("/proc/self/fd"+target, "dev/"+name); err != nil {
			return err
		}
	}
	_, err := (&layer{tree: t}).resolve(path.Join(workingDir, "file"))
	return err
}

// LimitError says that an image is more than the cache takes.
type LimitError struct{ reason string }

func (e *LimitError) Error() string { return "the image " + e.reason }
