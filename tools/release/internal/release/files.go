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

// ChecksumsFile is the name of the file with the SHA-256 of every other one, as sha256sum writes and checks it.
const ChecksumsFile = "checksums.txt"

type made struct {
	file, what string
	digest     string // of what is in it, where that has one of its own
	sum        string // SHA-256 of the file
	size       int64
}

func (m *maker) path(file string) string { return filepath.Join(m.Out, file) }

func (m *maker) write(f made, data []byte) error {
	if err := os.WriteFile(m.path(f.file), data, 0o644); err != nil {
		return err
	}
	return m.add(f)
}

// add notes a file that is there.
func (m *maker) add(f made) error {
	info, err := os.Stat(m.path(f.file))
	if err != nil {
		return err
	}
	f.size = info.Size()
	if f.sum, err = programs.Sum(m.path(f.file)); err != nil {
		return err
	}
	m.made = append(m.made, f)
	return nil
}

// finish writes the checksums, and says what was made.
func (m *maker) finish() error {
	slices.SortFunc(m.made, func(a, b made) int { return cmp.Compare(a.file, b.file) })
	var sums bytes.Buffer
	table := tabwriter.NewWriter(m.Log, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "FILE\tWHAT\tSIZE\tSHA-256\tDIGEST OR GO.SUM")
	for _, f := range m.made {
		fmt.Fprintf(&sums, "%s  %s\n", f.sum, f.file)
		fmt.Fprintf(table, "%s\t%s\t%.1f MB\t%s\t%s\n", f.file, f.what, float64(f.size)/1e6, f.sum[:12], f.digest)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return os.WriteFile(m.path(ChecksumsFile), sums.Bytes(), 0o644)
}

// Verify compares the files of a release in a directory with their checksums. A file that is missing, that differs, or that
// is there without a checksum is an error.
func Verify(dir string) error {
	data, err := os.ReadFile(filepath.Join(dir, ChecksumsFile))
	if err != nil {
		return fmt.Errorf("%w; make release-dry-run makes it", err)
	}
	known := map[string]bool{ChecksumsFile: true}
	for line := range strings.Lines(string(data)) {
		want, file, found := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !found || file != filepath.Base(file) {
			return fmt.Errorf("%s: line %q is no checksum of a file beside it", ChecksumsFile, line)
		}
		got, err := programs.Sum(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		if got != want {
			return fmt.Errorf("%s has sha256 %s, and %s says %s: make the release anew", file, got, ChecksumsFile, want)
		}
		known[file] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !known[entry.Name()] {
			return fmt.Errorf("%s is not in %s: make the release anew", entry.Name(), ChecksumsFile)
		}
	}
	return nil
}
