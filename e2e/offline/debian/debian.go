// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package debian installs missing Debian packages.
package debian

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

// Install installs packages if the program is not in PATH. It needs root and apt-get.
func Install(ctx context.Context, p *progress.Printer, program string, packages ...string) error {
	if _, err := exec.LookPath(program); err == nil {
		return nil
	}
	names := strings.Join(packages, " ")
	if os.Geteuid() != 0 {
		return fmt.Errorf("%s is missing and only root can install it: apt-get install %s", program, names)
	}
	return p.Step("install Debian's "+names+" on this machine, for "+program, func() error {
		if _, err := command.Run(ctx, "apt-get", "update", "-qq"); err != nil {
			return err
		}
		args := append([]string{"install", "-qq", "--no-install-recommends"}, packages...)
		install := exec.CommandContext(ctx, "apt-get", args...)
		install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if _, err := command.Output(install); err != nil {
			return err
		}
		if _, err := exec.LookPath(program); err != nil {
			return errors.New(names + " came without " + program)
		}
		return nil
	})
}
