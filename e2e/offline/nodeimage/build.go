// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/krmfn/krmfn/e2e/programs/progress"
)

// builder builds one image.
type builder struct {
	cache, module string // as in Provider
	kindFiles     string // what kind copies over the root file system of its nodes
	work          string // temporary directory
	root          string // root file system of the node, below work
	arch          string
	progress      *progress.Printer
}

// build writes the image to the file tarball, which is there only once it is complete.
func (p Provider) build(ctx context.Context, tag, kindDir, tarball string) (err error) {
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
		cache: p.Cache, module: p.Module, work: work, root: filepath.Join(work, "rootfs"),
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
	return b.progress.Step("pack the image", func() error { return b.pack(ctx, tag, tarball) })
}

// node puts kind's files, the programs and the control plane's images into the root file system.
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
