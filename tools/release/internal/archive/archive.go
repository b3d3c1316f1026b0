// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive packs files so that the same files give the same bytes: tar.Writer.AddFS and helm package keep times and
// owners of the machine.
package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"time"
)

// File is a regular file, or what Type says.
type File struct {
	Name string // with slashes, one at the end of a directory's
	Mode int64  // as in tar
	Data []byte
	Type byte   // as in tar; zero for a regular file
	Link string // what a link points to
}

// Tar writes files in their order, all of one time and of nobody in particular.
func Tar(w io.Writer, at time.Time, files []File) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		header := &tar.Header{
			Typeflag: cmp.Or(f.Type, tar.TypeReg), Name: f.Name, Mode: f.Mode, Linkname: f.Link, Size: int64(len(f.Data)),
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
