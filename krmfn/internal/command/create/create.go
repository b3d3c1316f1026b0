// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package create is the command krmfn create, for authors of functions.
package create

import (
	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/command/program"
)

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a function in Go, or the image of a function",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newFunction(p), newImage(p))
	return cmd
}
