// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/command/create/project"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
)

func newFunction(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "function NAME",
		Short: "Write the Go module of a new function",
		Long: `Write the Go module of a new function: the program, its configuration, tests with golden
files, and a GitHub workflow. The function sets an annotation until you change it. The
program can run as a worker, which answers many calls in one process.

The module requires krmfn's Go package in the version of this command. If this command was
built from a checkout, go.mod refers to that checkout with a replace directive.

` + failure.Help,
		Example: `  krmfn create function add-owner
  krmfn create function add-owner --module github.com/acme/add-owner --output functions/add-owner`,
		Args: cobra.ExactArgs(1),
	}
	var o project.Options
	set := cmd.Flags()
	set.StringVar(&o.Module, "module", "", "path of the Go module; the default is example.com/NAME")
	set.StringVar(&o.Dir, "output", "", "directory to write to, which must be new or empty; the default is ./NAME")
	set.StringVar(&o.SDK.Checkout, "sdk", "", "checkout of krmfn whose Go package the module uses instead of a released one; the default is the checkout that this command was built in, if any")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		o.Name = args[0]
		o.Module = cmp.Or(o.Module, "example.com/"+o.Name)
		o.Dir = cmp.Or(o.Dir, o.Name)
		if err := o.Validate(); err != nil {
			return failure.Usage(err)
		}
		sdk, err := o.SDK.Find(p.Executable)
		if err != nil {
			return err
		}
		o.SDK = sdk
		files, err := project.Write(o)
		if err != nil {
			return err
		}
		for _, file := range files {
			fmt.Fprintln(p.Out, file)
		}
		if sdk.Checkout != "" {
			p.Note("the module uses krmfn's Go package in %s: see replace in go.mod", sdk.Checkout)
		}
		p.Note("next: cd %s && go mod tidy && go test ./... (see README.md)", o.Dir)
		return nil
	}
	return cmd
}
