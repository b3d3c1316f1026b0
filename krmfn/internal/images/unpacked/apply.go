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
	// whiteout is the prefix of a file that deletes a file of lower layers. The rest of its name is the name of the deleted file.
	whiteout = ".wh."
	// opaque is the name of a file that deletes the contents that lower layers have in its directory.
	opaque = ".wh..wh..opq"
)

// tree is the directory into which an image is unpacked, for exclusive use. Names are resolved with the tree as the root directory. In
// addition, os.Root rejects paths that lead out of it.
type tree struct {
	*os.Root
	// bytes and entries are the remaining limits on the content of files, and on the number of files and directories. stream is the
	// remaining limit on the uncompressed layers, which also contain headers, padding, and entries that are not unpacked.
	bytes, stream int64
	entries       int
}

// maxHeaders limits the average size of an entry's headers and padding, in bytes.
const maxHeaders = 4 << 10

func newTree(root *os.Root, maxBytes int64, maxEntries int) *tree {
	return &tree{Root: root, bytes: maxBytes, entries: maxEntries, stream: maxBytes + int64(maxEntries)*maxHeaders}
}

// limited reads a layer until the context ends or the limit of the tree is reached.
type limited struct {
	ctx  context.Context //nolint:containedctx // io.Reader has no context parameter
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

// layer is the part of a tree that comes from one layer.
type layer struct {
	*tree
	// own contains the names from this layer, and their parent directories.
	own map[string]bool
}

// apply unpacks a layer's tar over the previous layers.
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

// count counts one file or directory toward the limit.
func (t *tree) count() error {
	if t.entries--; t.entries < 0 {
		return &LimitError{"has more files than images may have"}
	}
	return nil
}

// add unpacks one entry. It ignores devices, pipes, owners, and permissions other than to read and execute.
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

// resolve returns the path of a name in the tree. It creates the parent directory, and does not follow a link in the last element.
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

// makeAll creates a directory and its parents. Each counts toward the limit, because a layer with few entries can name many.
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
	// The function's user must be able to read the file.
	mode := fs.FileMode(header.Mode)&0o755 | 0o444 //nolint:gosec // only nine bits are used
	file, err := l.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	// Undo the effect of the umask.
	if err = errors.Join(err, file.Chmod(mode), file.Close()); err != nil {
		return err
	}
	return l.Chtimes(name, header.ModTime, header.ModTime)
}

// erase removes a name from lower layers.
func (l *layer) erase(name string) error {
	if base := path.Base(name); base == "." || base == ".." || base == "/" {
		return nil
	}
	if !l.own[name] {
		return l.RemoveAll(name)
	}
	return l.clear(name)
}

// clear removes the contents of a directory from lower layers.
func (l *layer) clear(dir string) error {
	if info, err := l.Lstat(dir); err != nil || !info.IsDir() {
		return nil //nolint:nilerr // there is nothing to remove
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

// finish creates the mount points of the sandbox, and the image's working directory.
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

// LimitError reports that an image exceeds a limit of the cache.
type LimitError struct{ reason string }

func (e *LimitError) Error() string { return "the image " + e.reason }
