// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/e2e/programs/progress"
	"github.com/krmfn/krmfn/internal/images/ociimage"
)

// builder builds one image.
type builder struct {
	cache     string // see Provider.Cache
	version   Version
	kindFiles string // files that kind copies into the root file system of nodes
	work      string // temporary directory
	root      string // root file system of the node, below work
	arch      string
	progress  *progress.Printer
}

// build writes the image to a tarball. The file exists only after it is complete.
func (p Provider) build(ctx context.Context, tag, kindDir, file string) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("only root can build it: it installs Debian's packages below a directory")
	}
	if err := os.MkdirAll(p.Cache, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(p.Cache, "work-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	b := &builder{
		cache: p.Cache, version: p.Kubernetes, work: work, root: filepath.Join(work, "rootfs"),
		kindFiles: filepath.Join(kindDir, "images", "base", "files"),
		arch:      runtime.GOARCH, progress: p.Progress,
	}
	p.Progress.Printf("build node image %s: about ten minutes on two cores if nothing of it is cached", tag)
	programs, err := b.compileAll(ctx)
	if err != nil {
		return err
	}
	if err := b.progress.Step("install Debian's packages", func() error { return b.debian(ctx) }); err != nil {
		return err
	}
	if err := b.progress.Step("make it a node", func() error { return b.node(ctx, programs) }); err != nil {
		return err
	}
	return b.progress.Step("pack the image", func() error { return b.pack(ctx, tag, file) })
}

// node adds kind's files, the programs and the images of the control plane to the root file system.
func (b *builder) node(ctx context.Context, programs programs) error {
	if err := b.copyFiles(programs); err != nil {
		return err
	}
	if err := b.containerSpec(ctx, programs["ctr"]); err != nil {
		return err
	}
	if err := b.units(); err != nil {
		return err
	}
	images, err := b.controlPlane(ctx, programs)
	if err != nil {
		return err
	}
	if err := b.configureContainerd(images.pause); err != nil {
		return err
	}
	if err := b.preload(ctx, programs, images.file); err != nil {
		return fmt.Errorf("preload images: %w", err)
	}
	return nil
}

// pack writes the root file system as an image for docker load.
func (b *builder) pack(ctx context.Context, tag, file string) error {
	compressed := filepath.Join(b.work, "rootfs.tar.gz")
	if err := b.archive(ctx, compressed); err != nil {
		return err
	}
	layer, err := tarball.LayerFromFile(compressed)
	if err != nil {
		return err
	}
	img, err := ociimage.Image{
		Platform: v1.Platform{OS: "linux", Architecture: b.arch},
		Config: v1.Config{
			Env:        []string{searchPath, "container=docker"},
			Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
			StopSignal: "SIGRTMIN+3", // systemd halts on this signal
		},
		Layers: []v1.Layer{layer},
	}.Build()
	if err != nil {
		return err
	}
	ref, err := name.NewTag(tag)
	if err != nil {
		return err
	}
	unfinished := filepath.Join(b.work, "image.tar")
	if err := tarball.WriteToFile(unfinished, ref, img); err != nil {
		return err
	}
	return os.Rename(unfinished, file)
}

// archive packs the root file system with GNU tar, which preserves owners, hard links, devices and file capabilities.
func (b *builder) archive(ctx context.Context, file string) (err error) {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	w, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
	if err != nil {
		return err
	}
	tar := exec.CommandContext(ctx, "tar", "--directory", b.root, "--numeric-owner", "--xattrs", "--sort=name",
		"--exclude=./dev/*", "--create", ".")
	tar.Stdout = w
	if _, err := command.Output(tar); err != nil {
		return err
	}
	return w.Close()
}
