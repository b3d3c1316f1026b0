// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/load"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/registry/publish"
	"github.com/krmfn/krmfn/internal/images/ociimage"
)

const (
	// executable is the path of the function in the image. user is the user and group of the image.
	executable = "/function"
	user       = "10001:10001"
)

// images builds and pushes images of one function. binary is the same function on this machine, for bare processes.
type images struct {
	binary, repository string
	layer              v1.Layer
	pushed             int
}

// newImages prepares an image layer with the function.
func newImages(bin, registry string) (*images, error) {
	f := &images{binary: filepath.Join(bin, binaries.FunctionsLight), repository: registry + "/bench/" + function.Name}
	var err error
	f.layer, err = ociimage.Layer(ociimage.Files{executable[1:]: ociimage.Copy(f.binary, 0o755), "tmp": ociimage.Directory(0o1777)})
	if err != nil {
		return nil, fmt.Errorf("image of the function: %w: try make build", err)
	}
	return f, nil
}

// push pushes the image of a kind under a new tag and returns its reference. All references of a kind have the same digest.
func (f *images) push(ctx context.Context, kind *function.Kind) (string, error) {
	f.pushed++
	config := v1.Config{User: user, Entrypoint: []string{executable, function.Name}, Env: []string{"PATH=/"}, Labels: maps.Clone(kind.Labels)}
	image, err := publish.Build(config, f.layer)
	if err != nil {
		return "", err
	}
	pushed, err := publish.Push(ctx, fmt.Sprintf("%s:v%d-%d", f.repository, time.Now().Unix(), f.pushed), image)
	return pushed.Reference, err
}

// bare returns a call that runs the function as a process on this machine.
func (f *images) bare(list []byte) load.Call { return function.Bare(f.binary, list) }
