// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package cache is the command krmfn cache.
package cache

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked"
)

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Manage the cache of images unpacked for the sandbox",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(prune(p))
	return cmd
}

func prune(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove unpacked images",
		Long: `Remove unpacked images from the sandbox's cache, except those in use. The cache is in
$KRMFN_CACHE_DIR, $XDG_CACHE_HOME/krmfn or ~/.cache/krmfn. When it exceeds 20 GiB, a new
image evicts the least recently used images automatically.

` + failure.Help,
		Example: `  krmfn cache prune
  krmfn cache prune --unused 720h`,
		Args: cobra.NoArgs,
	}
	unused := cmd.Flags().Duration("unused", 0, "remove only images that have not been used for this long")
	cmd.RunE = func(*cobra.Command, []string) error {
		if *unused < 0 {
			return failure.Usage(fmt.Errorf("--unused is %v, want 0 or more", *unused))
		}
		return run(p, *unused)
	}
	return cmd
}

func run(p *program.Program, unused time.Duration) error {
	images, err := runner.OpenCache(p, unpacked.Options{})
	if err != nil {
		return err
	}
	defer images.Close()
	pruned, err := images.Prune(unused)
	kept := ""
	if pruned.InUse > 0 {
		kept = fmt.Sprintf("; %d in use stay", pruned.InUse)
	}
	_, failed := fmt.Fprintf(p.Out, "%d images removed, %.1f MiB%s\n", len(pruned.Images), float64(pruned.Bytes)/(1<<20), kept)
	return errors.Join(err, failed)
}
