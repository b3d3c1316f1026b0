// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	pushing "github.com/krmfn/krmfn/tools/release/internal/publish"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

// publish pushes a release from a directory to a registry.
func publish(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("publish", flag.ContinueOnError)
	root := flags.String("root", ".", "root of the repository")
	tag := flags.String("tag", "", "tag in git that the release is of; vX.Y.Z of the chart if empty")
	digests := flags.String("digests", "", "file to write what was pushed to, one reference with its digest a line; none if empty")
	o := pushing.Options{Log: w}
	flags.StringVar(&o.Dir, "from", "build/release", "directory that has the release")
	flags.StringVar(&o.Registry, "registry", "ghcr.io/krmfn", "prefix of the repositories")
	flags.BoolVar(&o.PlainHTTP, "plain-http", false, "speak HTTP without TLS with the registry")
	flags.BoolVar(&o.AllowDirty, "allow-dirty", false, "push what was made of changes that are in no commit, to try it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.Versions, err = versions.Read(filepath.Join(*root, versions.File)); err != nil {
		return err
	}
	if o.Release, err = o.Versions.Release(*tag); err != nil {
		return err
	}
	pushed, err := pushing.Publish(ctx, o)
	if err != nil || *digests == "" {
		return err
	}
	var lines strings.Builder
	for _, reference := range pushed {
		fmt.Fprintln(&lines, reference)
	}
	return os.WriteFile(*digests, []byte(lines.String()), 0o644)
}
