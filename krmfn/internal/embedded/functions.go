// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package embedded

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/function-runner/runner"
	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Implementation says, for people, what evaluates a curated function.
func Implementation(f function.Function) string { return f.Name + " " + f.Version + " (curated)" }

// install gives every curated function an executable in dir: a link of its name to one program.
func install(dir string, c Config) ([]runner.Executable, error) {
	all := functions.All()
	list := make([]runner.Executable, 0, len(all))
	for _, f := range all {
		link := filepath.Join(dir, f.Name)
		if err := os.Symlink(c.Executable, link); err != nil {
			return nil, fmt.Errorf("make an executable of function %s: %w", f.Name, err)
		}
		list = append(list, runner.Executable{
			Name: f.Name, Path: link, Implementation: Implementation(f), AnyTag: !c.StrictVersions,
			Images: f.Images(c.StrictVersions, "", reference.CatalogPrefix, reference.FormerCatalogPrefix),
		})
	}
	return list, nil
}

// RunFunction acts as the curated function that the program was started as, by args[0], and returns its exit code. ok is
// false when the program was not started as a function.
func RunFunction(args []string, stdin io.Reader, stdout, stderr io.Writer) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	f, ok := functions.Lookup(filepath.Base(args[0]))
	if !ok {
		return 0, false
	}
	return function.Main(f, args[1:], stdin, stdout, stderr), true
}
