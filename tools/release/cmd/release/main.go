// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command release builds and publishes releases of krmfn. It needs the go command and git; only publish needs a registry.
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
	"github.com/krmfn/krmfn/tools/release/internal/publish"
	"github.com/krmfn/krmfn/tools/release/internal/release"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

const commands = "build, publish, provenance, require or tags"

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
		return errors.New("no command: give " + commands)
	}
	switch args[0] {
	case "build":
		return runBuild(ctx, args[1:], getenv, w)
	case "publish":
		return runPublish(ctx, args[1:], w)
	case "provenance":
		return runProvenance(args[1:], getenv)
	case "require":
		return runRequire(args[1:])
	case "tags":
		return runTags(args[1:], w)
	}
	return fmt.Errorf("unknown command %q: give %s", args[0], commands)
}

// addReleaseFlags adds the flags that select a release.
func addReleaseFlags(flags *flag.FlagSet) (root, tag *string) {
	return flags.String("root", ".", "root `directory` of the repository"),
		flags.String("tag", "", "git `tag` of the release; empty means the tag of the chart's version")
}

func runBuild(ctx context.Context, args []string, getenv func(string) string, w io.Writer) error {
	flags := flag.NewFlagSet("build", flag.ContinueOnError)
	root, tag := addReleaseFlags(flags)
	out := flags.String("out", "build/release", "`directory` for the release; its content is deleted")
	work := flags.String("work", "build/release-work", "`directory` that keeps programs between runs")
	arches := flags.String("arches", "amd64 arm64", "`architectures` of images, separated by spaces")
	platforms := flags.String("platforms", "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64", "`platforms` of the archives of the command krmfn, separated by spaces")
	commands := flags.String("commands", "", "`directories` of the commands in images, separated by spaces")
	if err := flags.Parse(args); err != nil {
		return err
	}
	o := release.Options{
		Out: *out, Tag: *tag, Epoch: getenv("SOURCE_DATE_EPOCH"), Log: w,
		Arches: strings.Fields(*arches), Commands: strings.Fields(*commands), GoBuild: flags.Args(),
	}
	var errs [5]error
	o.Platforms, errs[0] = programs.ParsePlatforms(*platforms)
	o.Root, errs[1] = filepath.Abs(*root)
	o.Work, errs[2] = filepath.Abs(*work)
	o.Authorities, errs[3] = release.Authorities()
	o.AuthoritiesModule, errs[4] = release.AuthoritiesModule()
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	return release.Make(ctx, o)
}

func runPublish(ctx context.Context, args []string, w io.Writer) error {
	flags := flag.NewFlagSet("publish", flag.ContinueOnError)
	root, tag := addReleaseFlags(flags)
	digests := flags.String("digests", "", "`file` for the pushed references with their digests, one per line; none if empty")
	o := publish.Options{Log: w}
	flags.StringVar(&o.Dir, "from", "build/release", "`directory` of the release")
	flags.StringVar(&o.Registry, "registry", "ghcr.io/krmfn", "`prefix` of the repositories")
	flags.BoolVar(&o.PlainHTTP, "plain-http", false, "use HTTP without TLS")
	flags.BoolVar(&o.AllowDirty, "allow-dirty", false, "push a release that was built with uncommitted changes, as a test")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.Versions, o.Release, err = versions.ReadRelease(*root, *tag); err != nil {
		return err
	}
	pushed, err := publish.Publish(ctx, o)
	if err != nil || *digests == "" {
		return err
	}
	var lines strings.Builder
	for _, reference := range pushed {
		fmt.Fprintln(&lines, reference)
	}
	return os.WriteFile(*digests, []byte(lines.String()), 0o644)
}

// runRequire writes the versions of this repository's modules in versions.yaml to the go.mod files in the directories that the arguments
// name.
func runRequire(args []string) error {
	flags := flag.NewFlagSet("require", flag.ContinueOnError)
	root := flags.String("root", ".", "root `directory` of the repository")
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

// runTags prints the git tags by which the go command finds the Go modules of a release.
func runTags(args []string, w io.Writer) error {
	flags := flag.NewFlagSet("tags", flag.ContinueOnError)
	root, tag := addReleaseFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	v, r, err := versions.ReadRelease(*root, *tag)
	for _, name := range r.Modules {
		fmt.Fprintln(w, modules.Tag(name, v.Modules[name]))
	}
	return err
}
