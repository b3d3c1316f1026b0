// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package hostile makes images of functions that do what functions should not, from the command e2e/cmd/hostile.
package hostile

import (
	"context"
	"fmt"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/e2e/registry/ociimage"
	"github.com/krmfn/krmfn/e2e/registry/publish"
)

// Mode is what a function does. But for NeedsRoot and Bare, they are modes of the command.
type Mode string

const (
	// Echo returns its input, after as long as a sleep in its functionConfig says; see List.
	Echo Mode = "echo"
	// Exit returns a result with severity error, writes to stderr and exits with ExitCode.
	Exit Mode = "exit"
	// WritesRoot creates a file in the root directory.
	WritesRoot Mode = "writes-root"
	// NeedsRoot is Echo that only root may execute.
	NeedsRoot Mode = "needs-root"
	// Bare is Echo in an image that has nothing else, not even /tmp, as those that are built from scratch.
	Bare Mode = "bare"
)

// What Exit does.
const (
	ExitCode = 3
	Message  = "the port is taken"
	Stderr   = "hostile: gave up"
)

// Path is where the command is in the images.
const Path = "/hostile"

// Images makes images and pushes them.
type Images struct {
	registry, path        string
	anybody, rootly, bare v1.Layer
	named                 int
}

// New returns Images with the command in the file binary. They go to the registry at an address. Name returns names below path, which
// other processes that use the registry must not share.
func New(binary, registry, path string) (i *Images, err error) {
	i = &Images{registry: registry, path: path}
	if i.anybody, err = ociimage.Layer(ociimage.Files{Path[1:]: {Source: binary}, "tmp": {}}); err != nil {
		return nil, err
	}
	if i.bare, err = ociimage.Layer(ociimage.Files{Path[1:]: {Source: binary}}); err != nil {
		return nil, err
	}
	i.rootly, err = ociimage.Layer(ociimage.Files{Path[1:]: {Source: binary, Mode: 0o700}})
	return i, err
}

// Name returns a name with a tag that it has not returned before.
func (i *Images) Name(mode Mode) string {
	i.named++
	return fmt.Sprintf("%s/%s:v%d", i.path, mode, i.named)
}

// Push pushes an image of a function, as REGISTRY/NAME, where name has the tag.
func (i *Images) Push(ctx context.Context, mode Mode, name string) (publish.Image, error) {
	img, err := i.Image(mode, name)
	if err != nil {
		return publish.Image{}, err
	}
	return publish.Push(ctx, i.registry+"/"+name, img)
}

// Image makes an image of a function. Each call makes one with a digest of its own, so that no two functions share anything.
func (i *Images) Image(mode Mode, name string) (v1.Image, error) {
	config := v1.Config{Entrypoint: []string{Path, string(mode)}, Labels: map[string]string{
		"name": name, "made": time.Now().Format(time.RFC3339Nano),
	}}
	layer := i.anybody
	switch mode {
	case NeedsRoot:
		layer, config.Entrypoint[1] = i.rootly, string(Echo)
	case Bare:
		layer, config.Entrypoint[1] = i.bare, string(Echo)
	case Echo, Exit, WritesRoot:
	}
	return ociimage.Image(runtime.GOARCH, config, layer)
}

// List is a ResourceList that has Echo take its time.
func List(sleep time.Duration) []byte {
	return fmt.Appendf(nil, `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: item}}
functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {sleep: %s}}
`, sleep)
}
