// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Dir is a directory on disk. Nothing outside of it is read or written, whatever symbolic links it holds: linked files are
// read and written through where they lie inside, linked directories are left out.
type Dir struct {
	root     *os.Root
	location string
}

// OpenDir opens a directory; a symbolic link to one is followed. Close must be called in the end.
func OpenDir(dir string) (*Dir, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(abs)
	if err != nil {
		return nil, err
	}
	return &Dir{root: root, location: abs}, nil
}

// Close releases the directory.
func (d *Dir) Close() error { return d.root.Close() }

// Location returns the absolute path of the directory, without symbolic links.
func (d *Dir) Location() string { return filepath.ToSlash(d.location) }

// Paths returns all regular files outside of .git directories, and all symbolic links but those to directories.
func (d *Dir) Paths() ([]string, error) {
	var paths []string
	err := fs.WalkDir(d.root.FS(), ".", func(p string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case entry.Type().IsRegular(), entry.Type()&fs.ModeSymlink != 0 && !d.isDir(p):
			paths = append(paths, p)
		}
		return nil
	})
	return paths, err
}

func (d *Dir) isDir(p string) bool {
	info, err := d.root.Stat(p)
	return err == nil && info.IsDir()
}

// ReadFile returns a file's content. A symbolic link that leads out of the directory is an error.
func (d *Dir) ReadFile(p string) ([]byte, error) {
	// Opening a pipe would wait for ever otherwise.
	f, err := d.root.OpenFile(p, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, d.explain(p, err)
	}
	defer f.Close() //nolint:errcheck // Nothing was written.
	info, err := f.Stat()
	if err != nil {
		return nil, d.explain(p, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Join(d.location, p))
	}
	content := make([]byte, info.Size()+1)
	n, err := f.Read(content)
	if int64(n) == info.Size() && (err == nil || errors.Is(err, io.EOF)) {
		return content[:n], nil
	}
	// The file is another one than a moment ago.
	rest, err := io.ReadAll(f)
	if err != nil {
		return nil, d.explain(p, err)
	}
	return append(content[:n], rest...), nil
}

// explain adds what is special about links to an error.
func (d *Dir) explain(p string, err error) error {
	if info, lerr := d.root.Lstat(p); lerr == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link that leads out of the package or to nothing: put the file in its place",
			filepath.Join(d.location, p))
	}
	return fmt.Errorf("%s: %w", d.location, err)
}
