// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package generatekptpkgdocs implements the function generate-kpt-pkg-docs.
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
)

// Function is the function generate-kpt-pkg-docs.
var Function = function.Function{
	Name:    "generate-kpt-pkg-docs",
	Version: "v0.1.0",
	Summary: "writes the contents of a package, and how to use it, to its README.md",
	Traits:  function.Traits{Worker: true},
	Config: "v1 ConfigMap with data.readme-path (default /tmp/README.md), data.repo-path and data.pkg-name. The file is written below " +
		"the directory that the environment variable " + directoryVariable + " names, which stands for /tmp",
	Process:   generate,
	KeepsList: true,
}

// directoryVariable is the environment variable with the directory of the README. The operator who runs the function sets it,
// not the author of the functionConfig.
const directoryVariable = "GENERATE_KPT_PKG_DOCS_DIR"

// generate writes the documentation of the package. It does not change the list.
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
	defer root.Close() //nolint:errcheck // written files are already closed
	name := strings.TrimPrefix(path.Join("/", strings.TrimPrefix(cmp.Or(data["readme-path"], "/tmp/README.md"), "/tmp/")), "/")
	before, err := root.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	after := insert(string(before), p.title(), p.body())
	if after == string(before) {
		return nil
	}
	// Write a temporary file and rename it, so that the README is never incomplete.
	unfinished := name + ".tmp"
	if err := root.WriteFile(unfinished, []byte(after), 0o644); err != nil {
		return err
	}
	return root.Rename(unfinished, name)
}

// Comments around the generated parts.
const (
	begin = "<!-- BEGINNING OF PRE-COMMIT-BLUEPRINT DOCS HOOK:%s -->\n"
	end   = "<!-- END OF PRE-COMMIT-BLUEPRINT DOCS HOOK:%s -->\n"
)

// insert replaces the title and body between their comments. If a README lacks the comments, the title is inserted at its
// beginning and the body at its end.
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
