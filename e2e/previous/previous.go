// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package previous builds the chart and the images of the previous release from the git history, for upgrade tests. versions.yaml names the
// previous release.
package previous

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/e2e/programs/filelock"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

// Release is a built release.
type Release struct {
	// Commit is the full commit hash. Tag is the tag of the images.
	Commit, Tag string
	// Chart is the directory of the chart. Images is the directory of the image layouts for this machine's architecture.
	Chart, Images string
}

// Builder builds releases.
type Builder struct {
	// Root is a checkout with git history.
	Root string
	// Cache is a directory that outlives checkouts. It holds one release.
	Cache    string
	Progress *progress.Printer
}

// New returns a Builder for a checkout, with a cache in the user's cache directory.
func New(root string, p *progress.Printer) (Builder, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return Builder{}, fmt.Errorf("user cache directory: %w", err)
	}
	return Builder{Root: root, Cache: filepath.Join(cache, "krmfn", "previous"), Progress: p}, nil
}

// Ensure returns the release that versions.yaml names as previous. If the cache does not have it, Ensure builds it, which takes minutes. It
// waits for other runs on this machine.
func (b Builder) Ensure(ctx context.Context) (r Release, err error) {
	commit, err := b.commit(ctx)
	if err != nil {
		return Release{}, err
	}
	dir := filepath.Join(b.Cache, commit)
	r = Release{Commit: commit, Tag: "previous-" + commit[:12], Chart: filepath.Join(dir, "chart"), Images: filepath.Join(dir, "images")}
	if err := os.MkdirAll(b.Cache, 0o755); err != nil {
		return Release{}, err
	}
	lock, err := filelock.Wait(ctx, filepath.Join(b.Cache, "lock"), func(held *filelock.HeldError) { b.Progress.Printf("waiting: %v", held) })
	if err != nil {
		return Release{}, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if _, err := os.Stat(dir); err == nil {
		return r, nil
	}
	if err := b.removeOthers(); err != nil {
		return Release{}, err
	}
	return r, b.Progress.Step("build chart and images of the previous release "+commit[:12], func() error { return b.build(ctx, r, dir) })
}

// commit returns the full commit hash of the previous release.
func (b Builder) commit(ctx context.Context) (string, error) {
	text, err := os.ReadFile(filepath.Join(b.Root, "versions.yaml"))
	if err != nil {
		return "", err
	}
	var versions struct{ Previous string }
	if err := yaml.Unmarshal(text, &versions); err != nil {
		return "", fmt.Errorf("versions.yaml: %w", err)
	}
	if versions.Previous == "" {
		return "", errors.New("versions.yaml: previous is empty: give the tag or the commit to upgrade from")
	}
	// The cache directory of a release is named after its commit, so a cached release does not need the history.
	if _, err := os.Stat(filepath.Join(b.Cache, filepath.Base(versions.Previous))); err == nil {
		return versions.Previous, nil
	}
	out, err := command.Run(ctx, "git", "-C", b.Root, "rev-parse", "--verify", "--quiet", "--end-of-options", versions.Previous+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("the previous release %s, which versions.yaml names, is not in the history of %s: try git fetch --unshallow --tags: %w", versions.Previous, b.Root, err)
	}
	return strings.TrimSpace(out), nil
}

// build builds the images with the Makefile of that commit. The directory exists only after it is complete.
func (b Builder) build(ctx context.Context, r Release, dir string) (err error) {
	work, err := os.MkdirTemp(b.Cache, "work-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	source, archive := filepath.Join(work, "source"), filepath.Join(work, "source.tar")
	if err := os.Mkdir(source, 0o755); err != nil {
		return err
	}
	if _, err := command.Run(ctx, "git", "-C", b.Root, "archive", "--format=tar", "--output="+archive, r.Commit); err != nil {
		return err
	}
	if _, err := command.Run(ctx, "tar", "--extract", "--file="+archive, "--directory="+source); err != nil {
		return err
	}
	// nice gives the build a low CPU priority.
	build := exec.CommandContext(ctx, "nice", "-n", "10", "make", "--no-print-directory", "-C", source, "images", "ARCHES="+runtime.GOARCH, "VERSION="+r.Tag)
	build.Env = withoutMake(os.Environ())
	if _, err := command.Output(build); err != nil {
		return fmt.Errorf("build the images of commit %s: %w", r.Commit, err)
	}
	complete := filepath.Join(work, "complete")
	if err := os.Mkdir(complete, 0o755); err != nil {
		return err
	}
	err = errors.Join(
		os.Rename(filepath.Join(source, "charts", "krmfn"), filepath.Join(complete, "chart")),
		os.Rename(filepath.Join(source, "build", "images"), filepath.Join(complete, "images")),
	)
	if err != nil {
		return fmt.Errorf("collect the build output of commit %s: %w", r.Commit, err)
	}
	return os.Rename(complete, dir)
}

// withoutMake removes variables that make and go run set for their children, because they do not apply to another checkout.
func withoutMake(environ []string) []string {
	var kept []string
	for _, variable := range environ {
		switch name, _, _ := strings.Cut(variable, "="); name {
		case "MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "GOWORK", "VERSION", "ARCHES", "REGISTRY":
		default:
			kept = append(kept, variable)
		}
	}
	return kept
}

// removeOthers removes other releases, and the remains of interrupted builds.
func (b Builder) removeOthers() error {
	entries, err := os.ReadDir(b.Cache)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if entry.IsDir() {
			err = errors.Join(err, os.RemoveAll(filepath.Join(b.Cache, entry.Name())))
		}
	}
	return err
}
