// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"io"
	"path/filepath"
	"strings"

	"github.com/krmfn/krmfn/tools/release/internal/programs"
	"github.com/krmfn/krmfn/tools/release/internal/release"
	"github.com/krmfn/krmfn/tools/release/internal/roots"
	"github.com/krmfn/krmfn/tools/release/internal/sbom"
)

// build makes a release in a directory.
func build(ctx context.Context, args []string, getenv func(string) string, w io.Writer) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	root := flags.String("root", ".", "root of the repository")
	out := flags.String("out", "build/release", "directory for the release; what is in it is deleted")
	work := flags.String("work", "build/release-work", "directory that keeps programs from run to run")
	tag := flags.String("tag", "", "tag in git to make the release of; vX.Y.Z of the chart if empty")
	arches := flags.String("arches", "amd64 arm64", "architectures of images, separated by spaces")
	platforms := flags.String("platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64", "what the command krmfn is packed for, separated by spaces")
	commands := flags.String("commands", "", "directories of the commands that images are made of, separated by spaces")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o := release.Options{
		Out: *out, Work: *work, Tag: *tag, Epoch: getenv("SOURCE_DATE_EPOCH"), Log: w,
		Arches: strings.Fields(*arches), Commands: strings.Fields(*commands), GoBuild: flags.Args(),
	}
	var err error
	if o.Platforms, err = programs.ParsePlatforms(*platforms); err != nil {
		return err
	}
	for _, dir := range []struct {
		path *string
		from string
	}{{&o.Root, *root}, {&o.Work, *work}} {
		if *dir.path, err = filepath.Abs(dir.from); err != nil {
			return err
		}
	}
	if o.Authorities, err = roots.PEM(); err != nil {
		return err
	}
	var m sbom.Module
	if m.Path, m.Version, m.Sum, err = roots.Module(); err != nil {
		return err
	}
	o.Data = []sbom.Module{m}
	return release.Make(ctx, o)
}
