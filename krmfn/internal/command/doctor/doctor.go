// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor is the command krmfn doctor.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/krmfn/internal/report"
	"github.com/krmfn/krmfn/services/images/reference"
)

// maxTime is the maximum duration of a check.
const maxTime = 20 * time.Second

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether functions can run: container engine, sandbox, cache, registry, function runner",
		Long: `Check whether functions can run on this machine, and print how to fix each problem:

  engine    a container engine (docker, podman or nerdctl) is installed and answers
  sandbox   the kernel permits the sandbox in which images run without an engine
  cache     the directory of unpacked images can be written, and has room
  registry  the registry of the functions answers, and accepts the credentials;
            with --image, the image's
  runner    the function runner that --runner names can be used

Curated functions need none of these. A failed check is a warning, unless a flag asks for
what it checks or no image can run at all. Then the exit code is 1.`,
		Example: `  krmfn doctor
  krmfn doctor --image ghcr.io/example/my-function:v1
  krmfn doctor --runner kube:porch-system/function-runner -o json`,
		Args: cobra.NoArgs,
	}
	flags := runner.AddAddressFlags(cmd.Flags(), "address of a function runner to check, "+runner.AddressForm)
	image := cmd.Flags().String("image", "", "image to look up in its registry")
	prefix := cmd.Flags().String("default-image-prefix", runner.DefaultPrefix(p), "prefix for images without a slash")
	wantsJSON := output.AddFormatFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		json, err := wantsJSON()
		if err = errors.Join(err, failure.Usage(reference.ValidatePrefix(*prefix))); err != nil {
			return err
		}
		ctx, cancel := flags.Limit(cmd.Context())
		defer cancel()
		checks := []check{engines{p}, kernel{}, newCache(p), registryOf(*image, *prefix)}
		if flags.Address != "" {
			checks = append(checks, functionRunner{p, flags})
		}
		findings := lookAll(ctx, checks)
		if cmd.Context().Err() != nil {
			return context.Cause(cmd.Context())
		}
		if json {
			err = report.WriteJSON(p.Out, newDocument(findings))
		} else {
			write(p.Out, findings)
		}
		if n := count(findings, fails); n > 0 {
			err = errors.Join(err, fmt.Errorf("%d of %d checks failed", n, len(findings)))
		}
		return err
	}
	return cmd
}
