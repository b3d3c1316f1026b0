// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// Dependabot updates the dependencies of every Go module, including the modules of tools.
func TestDependabotKnowsEveryModule(t *testing.T) {
	t.Parallel()
	root, err := binaries.Root()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, ".github", "dependabot.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	if err := yaml.Unmarshal(data, &config); err != nil {
		t.Fatal(err)
	}
	var known []string
	for _, update := range config.Updates {
		if update.Ecosystem == "gomod" {
			known = append(known, update.Directories...)
		}
	}
	if diff := cmp.Diff(modules(t, os.DirFS(root)), slices.Sorted(slices.Values(known))); diff != "" {
		t.Errorf("Go modules in dependabot.yml (-want +got):\n%s", diff)
	}
}

// modules returns the directories of all Go modules in the form that dependabot.yml uses. It skips hidden directories, build output and
// test data.
func modules(t *testing.T, repository fs.FS) []string {
	t.Helper()
	var dirs []string
	err := fs.WalkDir(repository, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "build" || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.Name() == "go.mod":
			dirs = append(dirs, path.Join("/", path.Dir(file)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(slices.Values(dirs))
}
