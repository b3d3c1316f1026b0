// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command release makes releases of krmfn and publishes them. It needs the go command and git; only publishing needs a
// registry.
//
// Usage:
//
//	release build [flags] -- [NAME=VALUE...] go build FLAG...
//	release publish [flags]
//	release provenance [flags]
//	release require [flags] MODULE...
//	release tags [flags]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/krmfn/krmfn/tools/release/internal/modules"
	"github.com/krmfn/krmfn/tools/release/internal/programs"
	pushing "github.com/krmfn/krmfn/tools/release/internal/publish"
	"github.com/krmfn/krmfn/tools/release/internal/release"
	"github.com/krmfn/krmfn/tools/release/internal/roots"
	"github.com/krmfn/krmfn/tools/release/internal/sbom"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

const commands = "build, publish, provenance, require and tags"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, getenv func(string) string, w io.Writer) error {
	if len(args) == 0 {
		return errors.New("no command: it is one of " + commands)
	}
	switch args[0] {
	case "build":
		return build(ctx, args[1:], getenv, w)
	case "publish":
		return publish(ctx, args[1:], w)
	case "provenance":
		return provenance(args[1:], getenv)
	case "require":
		return require(args[1:])
	case "tags":
		return tags(args[1:], w)
	}
	return fmt.Errorf("%q is no command: it is one of %s", args[0], commands)
}

// of adds the flags that say of which repository and tag a release is.
func of(flags *flag.FlagSet) (root, tag *string) {
	return flags.String("root", ".", "root of the repository"),
		flags.String("tag", "", "tag in git of the release; vX.Y.Z of the chart if empty")
}

func build(ctx context.Context, args []string, getenv func(string) string, w io.Writer) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	root, tag := of(flags)
	out := flags.String("out", "build/release", "directory for the release; what is in it is deleted")
	work := flags.String("work", "build/release-work", "directory that keeps programs from run to run")
	arches := flags.String("arches", "amd64 arm64", "architectures of images, separated by spaces")
	platforms := flags.String("platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64", "what the command krmfn is packed for, separated by spaces")
	commands := flags.String("commands", "", "directories of the commands that images are made of, separated by spaces")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o := release.Options{
		Out: *out, Tag: *tag, Epoch: getenv("SOURCE_DATE_EPOCH"), Log: w,
		Arches: strings.Fields(*arches), Commands: strings.Fields(*commands), GoBuild: flags.Args(),
	}
	var bundle sbom.Module
	var errs [5]error
	o.Platforms, errs[0] = programs.ParsePlatforms(*platforms)
	o.Root, errs[1] = filepath.Abs(*root)
	o.Work, errs[2] = filepath.Abs(*work)
	o.Authorities, errs[3] = roots.PEM()
	bundle, errs[4] = roots.Module()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	o.Data = []sbom.Module{bundle}
	return release.Make(ctx, o)
}

func publish(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("publish", flag.ContinueOnError)
	root, tag := of(flags)
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
	if o.Versions, o.Release, err = versions.ReadRelease(*root, *tag); err != nil {
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

// require has the go.mod files in the directories that the arguments name require the versions that versions.yaml has for
// the Go modules of this repository.
func require(args []string) error {
	flags := flag.NewFlagSet("require", flag.ContinueOnError)
	root := flags.String("root", ".", "root of the repository")
	if err := flags.Parse(args); err != nil {
		return err
	}
	v, err := versions.Read(*root)
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
	root, tag := of(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	v, r, err := versions.ReadRelease(*root, *tag)
	for _, name := range r.Modules {
		fmt.Fprintln(w, modules.Tag(name, v.Modules[name]))
	}
	return err
}
