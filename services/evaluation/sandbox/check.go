// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/images/unpacked"
)

// Check finds out whether images can run in a sandbox on this machine, without an image. Errors: *RefusedError, the context's end, and
// that no temporary files can be written.
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
	// Where root runs functions, they are somebody else's processes.
	if err := os.Chmod(root, 0o755); err != nil { //nolint:gosec // it has no content
		return fmt.Errorf("check the sandbox: %w", err)
	}
	for _, dir := range []string{"dev", "dev/shm", "proc", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			return fmt.Errorf("check the sandbox: %w", err)
		}
	}
	// The devices are mounted on the files; the program is looked for and not run.
	for _, file := range []string{"dev/null", "dev/zero", "dev/full", "dev/random", "dev/urandom", "check"} {
		if err := os.WriteFile(filepath.Join(root, file), nil, 0o755); err != nil {
			return fmt.Errorf("check the sandbox: %w", err)
		}
	}
	return e.check(ctx, unpacked.Image{Root: root, Command: []string{"/check"}})
}
