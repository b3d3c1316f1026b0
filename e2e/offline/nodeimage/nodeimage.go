// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package nodeimage provides the node image of a kind cluster. It uses the published image if it can be pulled. Otherwise it builds an
// image from Go modules and Debian packages, which requires no container registry.
package nodeimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

// reachable is the timeout for checking that the published image exists.
const reachable = 5 * time.Second

// Provider provides node images in the Docker engine.
type Provider struct {
	// Cache is a directory for files that take long to build: compiled programs, packages and images.
	Cache string
	// Kubernetes is the version of the nodes.
	Kubernetes Version
	Progress   *progress.Printer
}

// IsBuilt reports whether this package built an image. It returns false for published images.
func IsBuilt(image string) bool { return strings.HasPrefix(image, Repository+":") }

// Images returns the references that Ensure can return for a version.
func Images(ctx context.Context, v Version) ([]string, error) {
	source, err := kind(ctx)
	if err != nil {
		return nil, err
	}
	tag, err := Tag(v, runtime.GOARCH, source.version)
	return []string{v.Published(), tag}, err
}

// Ensure returns the reference of a node image in the Docker engine. Building an image takes several minutes, needs root, and leaves a
// tarball in the cache for later calls.
func (p Provider) Ensure(ctx context.Context) (string, error) {
	if p.pull(ctx) {
		return p.Kubernetes.Published(), nil
	}
	source, err := kind(ctx)
	if err != nil {
		return "", err
	}
	tag, err := Tag(p.Kubernetes, runtime.GOARCH, source.version)
	if err != nil {
		return "", err
	}
	if inEngine(ctx, tag) {
		return tag, nil
	}
	tarball := filepath.Join(p.Cache, strings.TrimPrefix(tag, Repository+":")+".tar")
	if _, err := os.Stat(tarball); err != nil {
		if err := p.removeTarballs(); err != nil {
			return "", err
		}
		if err := p.build(ctx, tag, source.dir, tarball); err != nil {
			return "", fmt.Errorf("build node image %s: %w", tag, err)
		}
	}
	return tag, p.load(ctx, tag, tarball)
}

// pull reports whether the engine has the published image, and pulls it if possible.
func (p Provider) pull(ctx context.Context) bool {
	published := p.Kubernetes.Published()
	if inEngine(ctx, published) {
		return true
	}
	ref, err := name.ParseReference(published)
	if err != nil {
		return false
	}
	short, cancel := context.WithTimeout(ctx, reachable)
	defer cancel()
	if _, err := remote.Head(ref, remote.WithContext(short), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		p.Progress.Printf("%s cannot be pulled here; a node image of the same version takes its place", published)
		return false
	}
	err = p.Progress.Step("pull "+published, func() error {
		_, err := command.Run(ctx, "docker", "pull", "--quiet", published)
		return err
	})
	if err != nil {
		p.Progress.Printf("a node image of the same version takes its place: %v", err)
	}
	return err == nil
}

// removeTarballs removes tarballs of this version that earlier recipes built.
func (p Provider) removeTarballs() error {
	former, err := filepath.Glob(filepath.Join(p.Cache, string(p.Kubernetes)+"-*.tar"))
	for _, tarball := range former {
		err = errors.Join(err, os.Remove(tarball))
	}
	return err
}

// load loads an image, and then removes earlier images of this version, which would otherwise fill the disk.
func (p Provider) load(ctx context.Context, tag, tarball string) error {
	err := p.Progress.Step("load node image "+tag, func() error {
		_, err := command.Run(ctx, "docker", "load", "--quiet", "--input", tarball)
		return err
	})
	if err != nil {
		return err
	}
	images, err := command.Run(ctx, "docker", "image", "ls", "--format", "{{.Repository}}:{{.Tag}}", Repository)
	for image := range strings.FieldsSeq(images) {
		if image != tag && strings.HasPrefix(image, p.Kubernetes.images()) {
			_, removeErr := command.Run(ctx, "docker", "image", "rm", image)
			err = errors.Join(err, removeErr)
		}
	}
	if err != nil {
		p.Progress.Printf("former node images stay: %v", err)
	}
	return nil
}

func inEngine(ctx context.Context, image string) bool {
	_, err := command.Run(ctx, "docker", "image", "inspect", "--format", "{{.Id}}", image)
	return err == nil
}

// kindModule is the source code of kind, which contains the files for nodes.
type kindModule struct{ version, dir string }

func kind(ctx context.Context) (kindModule, error) {
	root, err := binaries.Root()
	if err != nil {
		return kindModule{}, err
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", "sigs.k8s.io/kind")
	list.Dir = filepath.Join(root, "e2e")
	list.Env = append(os.Environ(), "GOWORK=off")
	out, err := command.Output(list)
	if err != nil {
		return kindModule{}, err
	}
	version, dir, ok := strings.Cut(strings.TrimSpace(out), " ")
	if !ok {
		return kindModule{}, errors.New("go list does not tell where kind's module is: try go mod download")
	}
	return kindModule{version: version, dir: dir}, nil
}
