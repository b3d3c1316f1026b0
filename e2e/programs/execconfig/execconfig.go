// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package execconfig gives a function runner the curated functions as executables.
package execconfig

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// Config is what a function runner is started with.
type Config struct {
	// File is the config file, Functions the directory of the executables.
	File, Functions string
}

// Write links the executables of the curated functions into a directory below dir and writes a config file beside them
// that has them answer to their own tags under both prefixes of the catalog. The multi-call executables are in bin.
func Write(ctx context.Context, bin, dir string) (Config, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return Config{}, err
	}
	c := Config{File: filepath.Join(dir, "config.yaml"), Functions: filepath.Join(dir, "functions")}
	if err := os.Mkdir(c.Functions, 0o750); err != nil {
		return Config{}, err
	}
	// The light one comes second and takes over what it has: it starts faster.
	for _, name := range []string{binaries.Functions, binaries.FunctionsLight} {
		link := exec.CommandContext(ctx, filepath.Join(bin, name), "link", c.Functions)
		if out, err := link.CombinedOutput(); err != nil {
			return Config{}, fmt.Errorf("link the executables of functions: %w\n%s", err, out)
		}
	}
	text, err := exec.CommandContext(ctx, filepath.Join(bin, binaries.Functions), "config").Output()
	if err != nil {
		return Config{}, fmt.Errorf("print the config file of functions: %w", err)
	}
	return c, os.WriteFile(c.File, text, 0o600)
}
