// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packages_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/krmfn/krmfn/services/render/packages"
)

// Paths skips directories that are deleted during the walk, and returns all other files.
func TestPathsWhileDirectoriesVanish(t *testing.T) {
	t.Parallel()
	location := t.TempDir()
	if err := os.WriteFile(filepath.Join(location, "z.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir, err := packages.OpenDir(location)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close() //nolint:errcheck // Only read from.
	stop := make(chan struct{})
	var vanishing sync.WaitGroup
	vanishing.Go(func() {
		for below := filepath.Join(location, "a", "b", "c"); ; {
			select {
			case <-stop:
				return
			default:
				_ = os.MkdirAll(below, 0o700)
				_ = os.RemoveAll(filepath.Join(location, "a"))
			}
		}
	})
	defer vanishing.Wait()
	defer close(stop)
	for range 500 {
		paths, err := dir.Paths()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(paths, []string{"z.yaml"}) {
			t.Fatalf("Paths() = %q, want z.yaml in it", paths)
		}
	}
}
