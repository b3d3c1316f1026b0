// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive packs files so that the same files give the same bytes, and unpacks them.
package archive

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// File is a regular file.
type File struct {
	Name string // with slashes
	Mode fs.FileMode
	Data []byte
}

// Tar writes files in their order, all of one time and of nobody in particular.
func Tar(w io.Writer, at time.Time, files []File) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: tar.TypeReg, Name: f.Name, Mode: int64(f.Mode.Perm()), Size: int64(len(f.Data)),
			ModTime: at.UTC().Truncate(time.Second), Format: tar.FormatPAX,
		}
		if err := t.WriteHeader(header); err != nil {
			return fmt.Errorf("pack %s: %w", f.Name, err)
		}
		if _, err := t.Write(f.Data); err != nil {
			return fmt.Errorf("pack %s: %w", f.Name, err)
		}
	}
	return t.Close()
}

// TarGz is Tar, compressed.
func TarGz(w io.Writer, at time.Time, files []File) error {
	// The header has no time and no name unless they are set.
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := Tar(z, at, files); err != nil {
		return err
	}
	return z.Close()
}

// Folder reads all files below a directory, sorted by name, readable by everybody.
func Folder(dir string) ([]File, error) {
	var files []File
	root := os.DirFS(dir)
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		files = append(files, File{Name: name, Mode: 0o644, Data: data})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", dir, err)
	}
	return files, nil
}

// Unpack writes the regular files of an archive below a directory, which must be there. Anything else in it, and a file
// outside of the directory, is an error.
func Unpack(file, dir string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for t := tar.NewReader(f); ; {
		header, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = unpack(root, header, t)
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", file, err)
		}
	}
}

func unpack(root *os.Root, header *tar.Header, content io.Reader) error {
	if header.Typeflag != tar.TypeReg {
		return fmt.Errorf("%s is no regular file", header.Name)
	}
	name := filepath.FromSlash(path.Clean(header.Name))
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	out, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.CopyN(out, content, header.Size)
	return errors.Join(err, out.Close())
}
