// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"

	"github.com/krmfn/krmfn/tools/release/internal/modules"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

// require has the go.mod files in the directories that the arguments name require the versions that versions.yaml has for
// the Go modules of this repository.
func require(args []string) error {
	flags := flag.NewFlagSet("require", flag.ContinueOnError)
	root := flags.String("root", ".", "root of the repository")
	if err := flags.Parse(args); err != nil {
		return err
	}
	v, err := versions.Read(filepath.Join(*root, versions.File))
	if err != nil {
		return err
	}
	errs := make([]error, flags.NArg())
	for i, dir := range flags.Args() {
		errs[i] = modules.Require(filepath.Join(*root, dir, "go.mod"), v.Modules)
	}
	return errors.Join(errs...)
}

// tags prints the tags in git by which the go command finds the Go modules of a release.
func tags(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("tags", flag.ContinueOnError)
	root := flags.String("root", ".", "root of the repository")
	tag := flags.String("tag", "", "tag in git of the release; vX.Y.Z of the chart if empty")
	if err := flags.Parse(args); err != nil {
		return err
	}
	v, err := versions.Read(filepath.Join(*root, versions.File))
	if err != nil {
		return err
	}
	r, err := v.Release(*tag)
	if err != nil {
		return err
	}
	for _, name := range r.Modules {
		fmt.Fprintf(w, "%s/%s\n", name, v.Modules[name])
	}
	return nil
}
