// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package images is the command krmfn images.
package images

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/output"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
	"github.com/krmfn/krmfn/krmfn/internal/mirror"
	"github.com/krmfn/krmfn/services/images/reference"
)

// The values of --output.
const (
	formatText = "text"
	formatJSON = "json"
	formatName = "name"
)

type command struct {
	*program.Program

	prefix, format, copyTo string
	offline                bool
	verification           verification
}

// Command returns the command, for a program.
func Command(p *program.Program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "images [DIR]",
		Short: "List the function images of a package, or copy them for a machine without network",
		Long: `List the function images in the pipelines of a package, by default the one in the current
directory, and of all packages below it: their digests, whether krmfn has the function
built in, and the packages that use them. Runs no function.

Names without a slash get --default-image-prefix. The command looks up digests, and the tags for
version constraints, with the credentials of Docker's or Podman's configuration. With
--offline, it contacts no registry: the list has no digests, and version constraints are
resolved to the releases that krmfn knows of its curated functions.

--copy-to copies the images with all platforms and prints the names of the copies. It
skips images that already exist there. The destination is one of:
  oci:DIR          an OCI layout, in which each image has its reference for a name:
                   krmfn eval --image oci:DIR:REFERENCE evaluates it
  REGISTRY/PREFIX  a registry, below a path that may be empty. The copy of r.io/a/b:v1 is
                   REGISTRY/PREFIX/r.io/a/b:v1, so that a function runner finds the copies
                   with --image-rewrite r.io=REGISTRY/PREFIX/r.io

--verify fails if an image is not signed. Name the accepted signers in one of these ways:
public keys with --key; an identity with --certificate-identity, --certificate-oidc-issuer
and --trusted-root; or the policy file of a function runner with --image-policy. The
command reads the signatures and attestations that cosign writes, and contacts only the
images' registries. With --copy-to, it copies only verified images.

` + failure.Help,
		Example: `  krmfn images my-package
  krmfn images my-package --offline -o name
  krmfn images my-package --verify --key cosign.pub
  krmfn images my-package --verify --image-policy image-policy.yaml
  krmfn images my-package --copy-to oci:images
  krmfn images my-package --copy-to registry.example.org/mirror`,
	}
	c := &command{Program: p}
	set := cmd.Flags()
	set.StringVarP(&c.format, "format", "o", formatText, "report format: text, json for one JSON document, or name for one image name per line")
	set.StringVar(&c.prefix, "default-image-prefix", runner.DefaultPrefix(p), "prefix for images without a slash; $KPT_IMAGE_PREFIX changes the default")
	set.BoolVar(&c.offline, "offline", false, "do not contact registries")
	c.verification.addFlags(set)
	set.StringVar(&c.copyTo, "copy-to", "", "copy the images to oci:DIR or REGISTRY/PREFIX")
	if err := cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{formatText, formatJSON, formatName}, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // only for a flag that does not exist
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			args = []string{"."}
		}
		p.WarnIgnored(args[1:])
		return c.run(cmd.Context(), args[0])
	}
	return cmd
}

func (c *command) validate() error {
	switch {
	case c.format != formatText && c.format != formatJSON && c.format != formatName:
		return failure.Usage(fmt.Errorf("--format is %q, want text, json or name", c.format))
	case c.offline && c.copyTo != "":
		return failure.Usage(errors.New("--copy-to needs registries: leave out --offline"))
	case c.offline && c.verification.enabled:
		return failure.Usage(errors.New("--verify needs registries: leave out --offline"))
	}
	return failure.Usage(reference.ValidatePrefix(c.prefix))
}

func (c *command) run(ctx context.Context, dir string) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	policy, err := c.verification.policy()
	if err != nil {
		return failure.Usage(err)
	}
	source, err := output.OpenDir(c.Program, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	client := registry.NewClient(registry.Options{})
	defer client.Close()
	var target mirror.Target
	if c.copyTo != "" {
		if target, err = mirror.Open(c.copyTo, client); err != nil {
			return failure.Usage(fmt.Errorf("--copy-to: %w", err))
		}
	}
	list, err := c.list(ctx, source, client)
	if err != nil {
		return err
	}
	// Names need no digests.
	if !c.offline && (c.format != formatName || target != nil || policy != nil) {
		resolve(ctx, client, list)
	}
	if policy != nil {
		if err := verify(ctx, client, policy, list); err != nil {
			return err
		}
	}
	if target != nil {
		c.copyAll(ctx, client, list, target)
	}
	if err := c.print(list); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return c.problems(list)
}
