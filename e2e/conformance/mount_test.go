// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/krmfn/krmfn/internal/server/certificates"
)

// mount is a directory with the files of a Secret. It changes like a Secret volume: the kubelet writes all files to a new directory, makes
// the link ..data point to it in one step, and deletes the old directory.
type mount struct {
	dir     string
	files   map[string][]byte
	version int
}

// newMount returns a mount with files, whose names are the keys.
func newMount(t *testing.T, files map[string][]byte) *mount {
	t.Helper()
	m := &mount{dir: t.TempDir(), files: map[string][]byte{}}
	m.update(t, files)
	for name := range files {
		check(t, os.Symlink(filepath.Join("..data", name), m.file(name)))
	}
	return m
}

func (m *mount) file(name string) string { return filepath.Join(m.dir, name) }

// certificates returns the paths of the keys that a TLS Secret has.
func (m *mount) certificates() certificates.Files {
	return certificates.Files{Certificate: m.file("tls.crt"), Key: m.file("tls.key"), Authorities: m.file("ca.crt")}
}

// update replaces some of the files.
func (m *mount) update(t *testing.T, files map[string][]byte) {
	t.Helper()
	maps.Copy(m.files, files)
	m.version++
	next, link := fmt.Sprintf("..%d", m.version), m.file("..data_tmp")
	check(t, os.Mkdir(m.file(next), 0o700))
	for name, text := range m.files {
		check(t, os.WriteFile(filepath.Join(m.dir, next, name), text, 0o600))
	}
	check(t, os.Symlink(next, link))
	check(t, os.Rename(link, m.file("..data")))
	check(t, os.RemoveAll(m.file(fmt.Sprintf("..%d", m.version-1))))
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
