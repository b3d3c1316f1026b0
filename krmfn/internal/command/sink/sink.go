// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package sink is the command krmfn sink.
package sink

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/services/render/packages"
)

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	return &cobra.Command{
		Use:   "sink DIR",
		Short: "Write the resources on stdin to a new directory",
		Long: `Write the resources on stdin, a ResourceList or YAML documents, to a new directory. The
annotations of each resource name its file. A resource without such an annotation gets
its own file, [NAMESPACE/]KIND_NAME.yaml.

` + failure.Help,
		Example: `  krmfn source my-package | krmfn eval - --image set-labels -- env=test | krmfn sink other`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.WarnIgnored(args[1:])
			return run(cmd.Context(), p, args[0])
		},
	}
}

func run(ctx context.Context, p *program.Program, dir string) error {
	if dir == "" {
		return failure.Usage(errors.New("the directory name is empty: name a directory that does not exist yet"))
	}
	switch _, err := os.Lstat(dir); {
	case err == nil:
		return failure.Usage(fmt.Errorf("directory %q already exists, please delete the directory and retry", dir))
	case !errors.Is(err, os.ErrNotExist):
		return failure.Usage(err)
	}
	// No absolute path is one of the values of --output that stand for something else.
	target, err := filepath.Abs(dir)
	if err != nil {
		return failure.Usage(err)
	}
	content, err := io.ReadAll(p.In)
	if err != nil {
		return fmt.Errorf("read the standard input: %w", err)
	}
	w, err := place(dir, content)
	if err != nil {
		return err
	}
	out := output.Output{Flags: output.Flags{Target: target}, Program: p}
	return out.Finish(ctx, w)
}

// place puts the resources of a stream into the files of a directory that is still empty.
func place(dir string, content []byte) (w output.Work, err error) {
	if w.Resources, err = packages.ParseStream(content); err != nil {
		return w, fmt.Errorf("the standard input: %w", err)
	}
	for i, r := range w.Resources {
		if yamlnode.IsNull(yamlnode.Lookup(r.YNode(), yaml.MetadataField)) {
			return w, fmt.Errorf("the standard input: resource %d: missing Resource metadata", i)
		}
		// It says where the resource came from, not where it is to go.
		resource.ClearAnnotations(r, resource.PackageAnnotation)
		if err := resource.SetDefaultPath(r); err != nil {
			return w, fmt.Errorf("the standard input: resource %d: %w", i, err)
		}
		if p := resource.Path(r); path.IsAbs(p) {
			return w, fmt.Errorf("package paths may not be absolute paths: %s", p)
		}
	}
	if w.Tree, err = packages.Open(empty(dir)); err == nil {
		w.Output, err = w.Tree.Output(w.Resources)
	}
	return w, err
}

// empty is the source of a directory without files, named as errors name it.
type empty string

// Location returns the directory.
func (dir empty) Location() string { return filepath.ToSlash(string(dir)) }

// Paths returns nothing.
func (empty) Paths() ([]string, error) { return nil, nil }

// ReadFile finds no file.
func (empty) ReadFile(string) ([]byte, error) { return nil, os.ErrNotExist }
