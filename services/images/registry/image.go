// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry finds out what must be known of a function's image before a pod can be made of it: the digest that its
// tag means now, and the command that it runs. Client asks registries; Cache is what evaluations ask, so that a known image
// costs no request and a registry's outage does not stop what has run before.
package registry

import (
	"fmt"
	"slices"
	"strings"

	distribution "github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/services/evaluation/traits"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Image is what a registry says of a function's image. Its working directory and environment are not in it: container
// runtimes honour those of the image by themselves, also where a pod replaces the command. As JSON it has the form of the package
// metadata.
type Image struct {
	// Reference is the image as it was asked for.
	Reference string `json:"image"`
	// Digest, "sha256:…", is of the manifest that the reference names. Where that is an index it is the index's, so that each
	// node pulls for its own architecture.
	Digest string `json:"digest"`
	// Command is the image's entrypoint and then its cmd. It has at least one element. It is shared: do not change it.
	Command []string `json:"command"`
	// User is the user of the image's config, "user[:group]" by names or numbers; empty means root.
	User string `json:"user,omitempty"`
	// Platforms are those on which Command and User are right, as "linux/amd64" or "linux/arm64/v8": the one of the image, or
	// those linux platforms of the index whose images have the same command and user. It is empty where the image does not
	// say. It is shared: do not change it.
	Platforms []string `json:"platforms,omitempty"`
	// Traits are what the image's labels declare of the function; a label with another value than true and false declares nothing.
	// Of an index, all images for linux must declare what lets the function be run in a faster way.
	Traits traits.Traits `json:"traits,omitzero"`
}

// Pinned returns the reference that always means these bytes: repository@digest.
func (i Image) Pinned() string {
	repository, _, _ := reference.Split(i.Reference)
	return repository + "@" + i.Digest
}

const (
	// maxCommand bounds what an image may make its caller keep and hand to Kubernetes, in bytes of command and user.
	maxCommand = 64 << 10
	// maxPlatforms bounds the images of an index that are read, and so the platforms; more are left out.
	maxPlatforms = 64
	// maxPlatform is the most bytes of one's name.
	maxPlatform = 128
)

// newImage reads a config, of which it keeps nothing else.
func newImage(ref, digest string, config v1.Config) (Image, error) {
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
	declared, _ := traits.Parse(traits.Traits{}, config.Labels)
	return Image{Reference: ref, Digest: digest, Command: command, User: config.User, Traits: declared}, nil
}

// parse reads a reference as the kubelet does, so that what is asked about is what is pulled: a registry's client of its own
// rules would look for localhost/x on Docker Hub. Without tag and digest the tag is latest; with both the digest counts.
func parse(ref string) (name.Reference, error) {
	named, err := distribution.ParseDockerRef(ref)
	if err != nil {
		return nil, fmt.Errorf("function image reference %q is invalid: %w", ref, err)
	}
	registry, err := name.NewRegistry(distribution.Domain(named))
	if err != nil {
		return nil, fmt.Errorf("function image reference %q is invalid: %w", ref, err)
	}
	repository := registry.Repo(distribution.Path(named))
	switch named := named.(type) {
	case distribution.Digested:
		return repository.Digest(named.Digest().String()), nil
	case distribution.Tagged:
		return repository.Tag(named.Tag()), nil
	default:
		return repository.Tag(name.DefaultTag), nil
	}
}

// givenDigest returns the digest that a reference names by itself, or "". It stands on the path of each call.
func givenDigest(ref string) (string, error) {
	_, digest, ok := strings.Cut(ref, "@")
	if !ok {
		return "", nil
	}
	if _, err := v1.NewHash(digest); err != nil {
		return "", fmt.Errorf("digest of function image reference %q is invalid: %w", ref, err)
	}
	return digest, nil
}
