// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry finds out what must be known of a function's image before a pod can be made of it: the digest that its
// tag means now, and the command that it runs. Client asks registries; Cache is what evaluations ask, so that a known image
// costs no request and a registry's outage does not stop what has run before.
package registry

import (
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/services/image"
)

// Image is what a registry says of a function's image.
type Image struct {
	// Reference is the image as it was asked for.
	Reference string
	// Digest, "sha256:…", is of the manifest that the reference names. Where that is an index it is the index's, so that each
	// node pulls for its own architecture.
	Digest string
	// Command is the image's entrypoint and then its cmd. It has at least one element. It is shared: do not change it.
	Command []string
	// User is the user of the image's config, "user[:group]" by names or numbers; empty means root.
	User string
	// Platforms are those of the index, or of the one image that there is, as "linux/amd64" or "linux/arm64/v8". It is empty
	// where the image does not say. It is shared: do not change it.
	Platforms []string
}

// Pinned returns the reference that always means these bytes: repository@digest.
func (i Image) Pinned() string {
	repository, _, _ := image.Split(i.Reference)
	return repository + "@" + i.Digest
}

const (
	// maxCommand bounds what an image may make its caller keep and hand to Kubernetes, in bytes of command and user.
	maxCommand = 64 << 10
	// maxPlatforms bounds the same in the number of platforms; more are left out.
	maxPlatforms = 64
)

// newImage reads a config.
func newImage(ref, digest string, config v1.Config, platforms []string) (Image, error) {
	command := slices.Concat(config.Entrypoint, config.Cmd)
	if len(command) == 0 || command[0] == "" {
		return Image{}, &UnusableError{digest, "it has neither an entrypoint nor a cmd: set ENTRYPOINT to the function's program"}
	}
	size := len(config.User)
	for _, word := range command {
		size += len(word)
	}
	if size > maxCommand {
		return Image{}, &UnusableError{digest, "its command is longer than 64 KiB: move it to a script"}
	}
	return Image{
		Reference: ref, Digest: digest, Command: command, User: config.User,
		Platforms: platforms[:min(len(platforms), maxPlatforms)],
	}, nil
}
