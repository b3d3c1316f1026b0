// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package source is the command krmfn source.
package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"sigs.k8s.io/kustomize/kyaml/kio"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/krmfn/internal/command/eval/directory"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/services/render/packages"
)

// unwrap is the value of --output that is not output.Stdout.
const unwrap = "unwrap"

type command struct {
	*program.Program
	output, fnConfig string
	includeMeta      bool
}

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	c := &command{Program: p}
	cmd := &cobra.Command{
		Use:   "source [DIR]",
		Short: "Write the resources of a directory to stdout, as a ResourceList",
		Long: `Write the resources of a directory, by default the current one, to stdout as a
ResourceList that functions, krmfn eval and krmfn sink can read. Includes Kptfiles and the
packages below the directory. Leaves out files that .krmignore lists.

` + failure.Help,
		Example: `  krmfn source my-package
  krmfn source my-package | krmfn eval - --image set-labels -- env=test | krmfn sink other
  krmfn source my-package -o unwrap > resources.yaml`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return c.run(cmd.Context(), dir)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&c.output, "output", "o", output.Stdout, `output format: "stdout", a ResourceList; or "unwrap", documents`)
	flags.StringVar(&c.fnConfig, "fn-config", "", "file with the functionConfig of the ResourceList")
	flags.BoolVar(&c.includeMeta, "include-meta-resources", false, "")
	_ = flags.MarkHidden("include-meta-resources")
	return cmd
}

func (c *command) run(ctx context.Context, dir string) error {
	switch {
	case c.includeMeta:
		return failure.Usage(errors.New("--include-meta-resources is no longer necessary because meta resources are now included by default"))
	case c.output != output.Stdout && c.output != unwrap:
		return failure.Usage(fmt.Errorf("invalid input for --output flag %q, must be %q or %q", c.output, output.Stdout, unwrap))
	case dir == "":
		return failure.Usage(errors.New("the directory name is empty: name a directory, or leave it out to use the current one"))
	}
	config, err := readConfig(c.fnConfig)
	if err != nil {
		return failure.Usage(err)
	}
	resources, err := c.read(dir)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return write(c.Out, c.output, resources, config)
}

// readConfig reads the functionConfig as kpt does: from a file, or from a directory with one resource. Nil means none.
func readConfig(name string) (*yaml.RNode, error) {
	if name == "" {
		return nil, nil //nolint:nilnil // there need not be one
	}
	nodes, err := kio.LocalPackageReader{PackagePath: name, PreserveSeqIndent: true, WrapBareSeqNode: true}.Read()
	switch {
	case err != nil:
		return nil, err
	case len(nodes) != 1:
		return nil, fmt.Errorf("expected exactly 1 functionConfig, found %d", len(nodes))
	case !yamlnode.Finite(nodes[0].YNode()):
		return nil, fmt.Errorf("functionConfig %q has an anchor that contains itself", name)
	}
	return nodes[0], nil
}

// read reads all resources of a directory, or of one file.
func (c *command) read(name string) ([]*yaml.RNode, error) {
	name, err := filepath.Abs(name)
	if err != nil {
		return nil, failure.Usage(err)
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return c.readFile(name)
	}
	dir, err := output.OpenDir(c.Program, name)
	if err != nil {
		return nil, err
	}
	defer dir.Close() //nolint:errcheck // Nothing was written.
	d, err := directory.Read(dir)
	if err != nil {
		return nil, err
	}
	return d.Resources, nil
}

func (c *command) readFile(link string) ([]*yaml.RNode, error) {
	name, err := filepath.EvalSymlinks(link)
	if err != nil {
		return nil, failure.Usage(err)
	}
	if name != link {
		c.Note("[WARN] resolved symlink %q to %q", link, name)
	}
	if !packages.IsResourceFile(name) {
		c.Warn(fmt.Errorf("%s is not read: files with resources are *.yaml, *.yml, *.json and Kptfile", name))
		return nil, nil
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, failure.Usage(err)
	}
	resources, err := packages.ParseFile(filepath.Base(name), content)
	if err != nil {
		return nil, fmt.Errorf("%s%c%w", filepath.Dir(name), filepath.Separator, err)
	}
	for _, r := range resources {
		resource.ClearAnnotations(r, resource.PackageAnnotation)
	}
	return resources, nil
}

func write(w io.Writer, form string, resources []*yaml.RNode, config *yaml.RNode) error {
	if form == unwrap {
		return packages.WriteDocuments(w, resources)
	}
	for _, r := range resources {
		yamlnode.QuoteUnreadable(r.Document())
	}
	return kio.ByteWriter{
		Writer: w, KeepReaderAnnotations: true, FunctionConfig: config,
		WrappingAPIVersion: kio.ResourceListAPIVersion, WrappingKind: kio.ResourceListKind,
	}.Write(resources)
}
