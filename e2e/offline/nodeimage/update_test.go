// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/e2e/programs/command"
)

var update = flag.Bool("update", false, "tidy recipe/modules, which downloads the modules")

func TestUpdateModules(t *testing.T) {
	t.Parallel()
	if !*update {
		t.Skip("only with -update")
	}
	for _, c := range all() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			var imports strings.Builder
			imports.WriteString("//go:build never\n\npackage never\n\n")
			for _, path := range c.packages {
				fmt.Fprintf(&imports, "import _ %q\n", path)
			}
			if err := os.WriteFile(filepath.Join(dir, "imports.go"), []byte(imports.String()), 0o600); err != nil {
				t.Fatal(err)
			}
			recorded := filepath.Join("recipe", "modules", c.name)
			for _, file := range []string{".mod", ".sum"} {
				if err := copyFile(recorded+file, filepath.Join(dir, "go"+file), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			tidy := exec.CommandContext(t.Context(), "go", "mod", "tidy")
			tidy.Dir, tidy.Env = dir, append(os.Environ(), "GOWORK=off")
			if _, err := command.Output(tidy); err != nil {
				t.Fatal(err)
			}
			for _, file := range []string{".mod", ".sum"} {
				if err := copyFile(filepath.Join(dir, "go"+file), recorded+file, 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
