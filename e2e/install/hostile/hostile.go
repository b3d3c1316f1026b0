// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package hostile creates images of functions that misbehave, from the command e2e/cmd/hostile.
package hostile

import (
	"context"
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/e2e/registry/publish"
	"github.com/krmfn/krmfn/internal/images/ociimage"
)

// Mode is the behaviour of a function. All modes except NeedsRoot and Bare are modes of the command.
type Mode string

const (
	// Echo returns its input, after the delay in its functionConfig; see List.
	Echo Mode = "echo"
	// Exit returns a result with severity error, writes to stderr and exits with ExitCode.
	Exit Mode = "exit"
	// WritesRoot creates a file in the root directory.
	WritesRoot Mode = "writes-root"
	// NeedsRoot is Echo with an executable that only root can execute.
	NeedsRoot Mode = "needs-root"
	// Bare is Echo in an image that contains only the executable, without /tmp, like images built from scratch.
	Bare Mode = "bare"
)

// The exit code, the result and the end of stderr of Exit.
const (
	ExitCode = 3
	Message  = "the port is taken"
	Stderr   = "hostile: gave up"
)

// Path is the path of the command in the images.
const Path = "/hostile"

// Images creates and pushes images. It is not safe for concurrent use.
type Images struct {
	registry, path        string
	anybody, rootly, bare v1.Layer
	named                 int
}

// New returns Images that use the executable in the file binary and push to the registry at an address. Name returns names below path,
// which must be unique among the processes that use the registry.
func New(binary, registry, path string) (i *Images, err error) {
	i = &Images{registry: registry, path: path}
	if i.anybody, err = ociimage.Layer(ociimage.Files{Path[1:]: ociimage.Copy(binary, 0o755), "tmp": ociimage.Directory(0o1777)}); err != nil {
		return nil, err
	}
	if i.bare, err = ociimage.Layer(ociimage.Files{Path[1:]: ociimage.Copy(binary, 0o755)}); err != nil {
		return nil, err
	}
	i.rootly, err = ociimage.Layer(ociimage.Files{Path[1:]: ociimage.Copy(binary, 0o700)})
	return i, err
}

// Name returns a new name with a tag.
func (i *Images) Name(mode Mode) string {
	i.named++
	return fmt.Sprintf("%s/%s:v%d", i.path, mode, i.named)
}

// Push pushes an image of a function as REGISTRY/NAME. name includes the tag.
func (i *Images) Push(ctx context.Context, mode Mode, name string) (publish.Image, error) {
	img, err := i.Image(mode, name)
	if err != nil {
		return publish.Image{}, err
	}
	return publish.Push(ctx, i.registry+"/"+name, img)
}

// Image creates an image of a function. Each image has a unique digest, so that no two functions share pods or caches.
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
	return publish.Build(config, layer)
}

// List returns a ResourceList that makes Echo sleep for the given time.
func List(sleep time.Duration) []byte {
	return fmt.Appendf(nil, `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: item}}
functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {sleep: %s}}
`, sleep)
}
