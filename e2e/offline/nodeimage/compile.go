// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// programs maps names of compiled programs to paths.
type programs map[string]string

// compileAll compiles components that are not in the cache, one after another, because each compilation uses all cores.
func (b *builder) compileAll(ctx context.Context) (programs, error) {
	all := make(programs)
	for _, c := range components(b.version) {
		dir := filepath.Join(b.cache, "bin", c.name+"-"+c.hash(b.arch))
		if _, err := os.Stat(dir); err != nil {
			what := fmt.Sprintf("compile %s from Go modules", c.name)
			if err := b.progress.Step(what, func() error { return b.compile(ctx, c, dir) }); err != nil {
				return nil, err
			}
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("compiled programs: %w", err)
		}
		for _, file := range files {
			all[file.Name()] = filepath.Join(dir, file.Name())
		}
	}
	all[binaries.Pause] = filepath.Join(b.work, binaries.Pause)
	return all, binaries.Build(ctx, b.work, binaries.Pause)
}

// compile compiles a component into the directory dir. The directory exists only after it is complete.
func (b *builder) compile(ctx context.Context, c component, dir string) (err error) {
	source, err := os.MkdirTemp(b.work, c.name+"-")
	if err != nil {
		return err
	}
	for _, file := range []string{"mod", "sum"} {
		data, err := recipe.ReadFile("recipe/modules/" + c.name + "." + file)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(source, "go."+file), data, 0o644); err != nil {
			return err
		}
	}
	unfinished := dir + ".unfinished"
	if err := errors.Join(os.RemoveAll(unfinished), os.MkdirAll(unfinished, 0o755)); err != nil {
		return err
	}
	linker := strings.Join(append([]string{"-s -w"}, c.variables...), " -X ")
	flags := []string{"-ldflags=" + linker, "-tags=" + c.tags, "-o", unfinished + string(filepath.Separator)}
	if err := goBuild(ctx, source, slices.Concat(flags, c.packages)...); err != nil {
		return err
	}
	return os.Rename(unfinished, dir)
}

// goBuild compiles static programs in a directory with low CPU priority.
func goBuild(ctx context.Context, dir string, args ...string) error {
	args = append([]string{"-n", "10", "go", "build", "-trimpath", "-buildvcs=false", "-mod=readonly"}, args...)
	cmd := exec.CommandContext(ctx, "nice", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	_, err := command.Output(cmd)
	return err
}
