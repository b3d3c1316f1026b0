// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package layouts_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/match"
	"github.com/google/go-containerregistry/pkg/v1/random"

	"github.com/krmfn/krmfn/krmfn/internal/images/layouts"
)

// Blobs have the same read permissions as the index.
func TestBlobsHavePermissionsOfIndex(t *testing.T) {
	t.Parallel()
	image, err := random.Image(64, 2)
	if err != nil {
		t.Fatal(err)
	}
	index, err := random.Index(64, 1, 2)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		index, blobs fs.FileMode
	}{
		"all":       {0o644, 0o444},
		"the group": {0o660, 0o440},
		"the owner": {0o600, 0o400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			path, err := layout.Write(dir, empty.Index)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(dir, "index.json"), tc.index); err != nil {
				t.Fatal(err)
			}
			if err := layouts.ReplaceImage(path, image, match.Name("image")); err != nil {
				t.Fatal(err)
			}
			if got, want := modes(t, dir), 4; len(got) != want {
				t.Errorf("blobs of the layout = %v, want %d", got, want)
			}
			if err := layouts.ReplaceIndex(path, index, match.Name("index")); err != nil {
				t.Fatal(err)
			}
			for blob, mode := range modes(t, dir) {
				if mode&tc.blobs != tc.blobs || mode&0o111 != 0 {
					t.Errorf("mode of %s = %o, mode of the index = %o", blob, mode, tc.index)
				}
			}
		})
	}
}

// modes returns the permissions of a layout's blobs.
func modes(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	found := map[string]fs.FileMode{}
	err := filepath.WalkDir(filepath.Join(dir, "blobs"), func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			found[filepath.Base(file)] = info.Mode().Perm()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
