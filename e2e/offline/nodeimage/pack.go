// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"compress/gzip"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/e2e/registry/ociimage"
)

// pack writes the root file system as an image that docker load reads.
func (b *builder) pack(ctx context.Context, tag, file string) error {
	compressed := filepath.Join(b.work, "rootfs.tar.gz")
	if err := b.archive(ctx, compressed); err != nil {
		return err
	}
	layer, err := tarball.LayerFromFile(compressed)
	if err != nil {
		return err
	}
	img, err := ociimage.Image(b.arch, v1.Config{
		Env:        []string{searchPath, "container=docker"},
		Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
		StopSignal: "SIGRTMIN+3", // systemd's own for halt
	}, layer)
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

// archive packs the root file system. GNU tar knows owners, hard links, devices and capabilities of files.
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
