// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/krmfn/internal/images/unpacked"
)

// Check checks whether this machine permits sandboxes, without an image. It returns a *RefusedError if it does not, the context's
// cause, or an error about temporary files.
func Check(ctx context.Context, runner process.Processes) (err error) {
	e, err := New(nil, runner, Limits{})
	if err != nil {
		return err
	}
	root, err := os.MkdirTemp("", "krmfn-check-")
	if err != nil {
		return fmt.Errorf("check the sandbox: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	// If this process is root, the sandbox's process runs as another user and must be able to read the directory.
	if err := os.Chmod(root, 0o755); err != nil { //nolint:gosec // the directory contains no data
		return fmt.Errorf("check the sandbox: %w", err)
	}
	for _, dir := range []string{"dev", "dev/shm", "proc", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			return fmt.Errorf("check the sandbox: %w", err)
		}
	}
	// The sandbox mounts devices on these files. It looks up the program /check and does not run it.
	for _, file := range []string{"dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom", "check"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o755); err != nil {
			return fmt.Errorf("check the sandbox: %w", err)
		}
	}
	return e.check(ctx, unpacked.Image{Root: root, Command: []string{"/check"}})
}
