// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package generatekptpkgdocs is the function generate-kpt-pkg-docs.
package generatekptpkgdocs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/evaluation/traits"
)

// Function is generate-kpt-pkg-docs.
var Function = function.Function{
	Name:    "generate-kpt-pkg-docs",
	Version: "v0.1.0",
	Summary: "writes the contents of a package, and how to use it, to its README.md",
	Traits:  traits.Traits{Worker: true},
	Config: "v1 ConfigMap with data.readme-path (default /tmp/README.md), data.repo-path and data.pkg-name. The file is written below " +
		"the directory that the environment variable " + directoryVariable + " names, which stands for /tmp",
	Process:   generate,
	KeepsList: true,
}

// directoryVariable is the environment variable with the directory of the README. It is for who runs the function to set, and not
// for who writes its configuration.
const directoryVariable = "GENERATE_KPT_PKG_DOCS_DIR"

// generate documents the package of a list, which it leaves as it is.
func generate(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	err := write(ctx, rl)
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	if err != nil {
		rl.Results.Errorf("failed to generate documentation: %s", err)
		return false, nil
	}
	return true, nil
}

func write(ctx context.Context, rl *fn.ResourceList) error {
	data, err := functionconfig.Data(rl.FunctionConfig)
	if err != nil {
		return err
	}
	p, err := packageOf(ctx, rl)
	if err != nil {
		return err
	}
	p.repo, p.name = cmp.Or(data["repo-path"], p.repo), cmp.Or(data["pkg-name"], p.name)
	dir := ""
	for _, variable := range function.ProgramOf(ctx).Environ {
		if name, value, _ := strings.Cut(variable, "="); name == directoryVariable {
			dir = value
		}
	}
	if dir == "" {
		return fmt.Errorf("no README can be written: set %s to the directory that has it", directoryVariable)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("%s: %w", directoryVariable, err)
	}
	defer root.Close() //nolint:errcheck // what is written has been closed
	name := strings.TrimPrefix(path.Join("/", strings.TrimPrefix(cmp.Or(data["readme-path"], "/tmp/README.md"), "/tmp/")), "/")
	before, err := root.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	after := insert(string(before), p.title(), p.body())
	if after == string(before) {
		return nil
	}
	// The README is the old or the new one, whatever happens.
	unfinished := name + ".tmp"
	if err := root.WriteFile(unfinished, []byte(after), 0o644); err != nil {
		return err
	}
	return root.Rename(unfinished, name)
}

// The comments around what is generated.
const (
	begin = "<!-- BEGINNING OF PRE-COMMIT-BLUEPRINT DOCS HOOK:%s -->\n"
	end   = "<!-- END OF PRE-COMMIT-BLUEPRINT DOCS HOOK:%s -->\n"
)

// insert puts the title and the body between their comments. Those that a README does not have are added: the title in front, the
// body at its end.
func insert(readme, title, body string) string {
	for _, part := range []struct{ name, text string }{{"TITLE", title}, {"BODY", body}} {
		first, last := fmt.Sprintf(begin, part.name), fmt.Sprintf(end, part.name)
		head, rest, found := strings.Cut(readme, first)
		_, tail, closed := strings.Cut(rest, last)
		switch block := first + part.text + last; {
		case found && closed:
			readme = head + block + tail
		case part.name == "TITLE":
			readme = block + readme
		default:
			readme = strings.TrimRight(readme, "\n") + "\n" + block
		}
	}
	return readme
}
