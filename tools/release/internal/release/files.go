// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/krmfn/krmfn/tools/release/internal/programs"
)

// ChecksumsFile is the name of the file with the SHA-256 of all other files, in the format of sha256sum.
const ChecksumsFile = "checksums.txt"

// releaseFile is a file of a release.
type releaseFile struct {
	file, kind string
	digest     string // digest of an image, or checksum of a module in go.sum; empty for other files
	sum        string // SHA-256 of the file
	size       int64
}

func (m *maker) path(file string) string { return filepath.Join(m.Out, file) }

func (m *maker) write(f releaseFile, data []byte) error {
	if err := os.WriteFile(m.path(f.file), data, 0o644); err != nil {
		return err
	}
	return m.add(f)
}

// add records a file that has been written.
func (m *maker) add(f releaseFile) error {
	info, err := os.Stat(m.path(f.file))
	if err != nil {
		return err
	}
	f.size = info.Size()
	if f.sum, err = programs.Sum(m.path(f.file)); err != nil {
		return err
	}
	m.files = append(m.files, f)
	return nil
}

// finish writes the checksums, and logs a table of all files.
func (m *maker) finish() error {
	slices.SortFunc(m.files, func(a, b releaseFile) int { return cmp.Compare(a.file, b.file) })
	var sums bytes.Buffer
	table := tabwriter.NewWriter(m.Log, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FILE\tKIND\tSIZE\tSHA-256\tDIGEST OR GO.SUM")
	for _, f := range m.files {
		fmt.Fprintf(&sums, "%s  %s\n", f.sum, f.file)
		fmt.Fprintf(table, "%s\t%s\t%.1f MB\t%s\t%s\n", f.file, f.kind, float64(f.size)/1e6, f.sum[:12], f.digest)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return os.WriteFile(m.path(ChecksumsFile), sums.Bytes(), 0o644)
}

// Verify compares the files of a release in a directory with their checksums. A missing file, a changed file and a file without a checksum
// are errors.
func Verify(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, ChecksumsFile))
	if err != nil {
		return fmt.Errorf("%w; make release-dry-run builds a release", err)
	}
	known := map[string]bool{ChecksumsFile: true}
	for line := range strings.Lines(string(data)) {
		want, file, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !found || file != filepath.Base(file) {
			return fmt.Errorf("%s: line %q is not a checksum of a file in the same directory", ChecksumsFile, line)
		}
		got, err := programs.Sum(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s has sha256 %s, but %s has %s: build the release again", file, got, ChecksumsFile, want)
		}
		known[file] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !known[entry.Name()] {
			return fmt.Errorf("%s is not in %s: build the release again", entry.Name(), ChecksumsFile)
		}
	}
	return nil
}
