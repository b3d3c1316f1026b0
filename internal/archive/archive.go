// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package archive writes tar archives in which equal files give equal bytes. Writer.AddFS of archive/tar and helm package would add the
// timestamps and owners of the files on this machine.
package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"fmt"
	"io"
	"time"
)

// File is an entry of an archive.
type File struct {
	Name string // with slashes; the name of a directory ends with one
	Mode int64  // permission bits
	Data []byte
	Type byte   // type flag of archive/tar; zero means a regular file
	Link string // target of a link
}

// Tar writes files in the given order. All of them get the timestamp at, in seconds, and the owner root.
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

// TarGz writes a tar archive that is compressed with gzip.
func TarGz(w io.Writer, at time.Time, files []File) error {
	// The gzip header has neither a timestamp nor a name unless they are set.
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := Tar(z, at, files); err != nil {
		return err
	}
	return z.Close()
}
