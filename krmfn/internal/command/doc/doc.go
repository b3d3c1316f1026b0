// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package doc is the command krmfn doc.
package doc

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doc --image IMAGE",
		Short: "Describe a curated function and its configuration",
		Long: `Print what a curated function does and which functionConfig it takes. Use krmfn functions
to list the functions.

` + failure.Help,
		Example: `  krmfn doc --image set-labels
  krmfn doc -i ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4`,
		Args: cobra.MaximumNArgs(0),
	}
	var image string
	cmd.Flags().StringVarP(&image, "image", "i", "", "image of the function, or its name")
	cmd.RunE = func(*cobra.Command, []string) error { return run(p, image) }
	return cmd
}

func run(p *program.Program, image string) error {
	prefix := runner.DefaultPrefix(p)
	if image == "" {
		return failure.Usage(errors.New("image must be specified"))
	}
	if err := errors.Join(reference.ValidatePrefix(prefix), reference.Validate(image)); err != nil {
		return failure.Usage(err)
	}
	f, ok := functions.Lookup(reference.CatalogName(image, prefix))
	// A digest means one image, which the curated function is not.
	if _, _, digest := reference.Split(image); !ok || digest != "" {
		meant := ""
		if near := failure.SimilarFunctions(image); near != "" {
			meant = "did you mean " + near + "? Otherwise "
		}
		return fmt.Errorf("krmfn has no function %q: %ssee `krmfn functions` for those that it has, or ask a container engine: docker run --rm %s --help",
			image, meant, image)
	}
	if warning := reference.Substitution(image, f.Version); warning != "" {
		p.Alert(warning)
	}
	function.Main(f, []string{"--help"}, p.In, p.Out, p.Err)
	return nil
}
