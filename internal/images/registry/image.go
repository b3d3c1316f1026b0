// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package registry looks up what is needed to create a pod for a function image: the current digest of its tag, and its command. Client
// sends requests to registries. Cache, which evaluations use, avoids requests for known images, and keeps them usable during an outage
// of the registry.
package registry

import (
	"fmt"
	"slices"
	"strings"

	distribution "github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/krmfn/krmfn/internal/traits"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Image is what a registry says about a function image. It does not contain the working directory and the environment, because
// container runtimes use those of the image even if a pod overrides the command. Package metadata defines its JSON form.
type Image struct {
	// Reference is the reference in the request.
	Reference string `json:"image"`
	// Digest ("sha256:…") is the digest of the manifest that the reference names. For an index, it is the index's, so that each node
	// pulls the image for its own architecture.
	Digest string `json:"digest"`
	// Command is the image's entrypoint followed by its cmd. It has at least one element. Callers share it and must not modify it.
	Command []string `json:"command"`
	// User is the user in the image's config, "user[:group]" as names or numbers. Empty means root.
	User string `json:"user,omitempty"`
	// Platforms are the platforms for which Command and User are correct, such as "linux/amd64" or "linux/arm64/v8": the platform of
	// the image, or the linux platforms of the index whose images have the same command and user. It is empty if the image does not
	// name its platform. Callers share it and must not modify it.
	Platforms []string `json:"platforms,omitempty"`
	// Traits are the declarations in the image's labels. A label whose value is neither true nor false declares nothing. For an index,
	// all linux images must declare a trait that lets the function run faster.
	Traits traits.Traits `json:"traits,omitzero"`
}

// Pinned returns the reference by digest: repository@digest.
func (i Image) Pinned() string {
	repository, _, _ := reference.Split(i.Reference)
	return repository + "@" + i.Digest
}

const (
	// maxCommand is the maximum length of command and user, in bytes. Callers keep them, and pass them to Kubernetes.
	maxCommand = 64 << 10
	// maxPlatforms is the maximum number of images of an index that are read. More are ignored.
	maxPlatforms = 64
	// maxPlatform is the maximum length of a platform's name, in bytes.
	maxPlatform = 128
)

// newImage returns the image with the given config.
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

// parse parses a reference like the kubelet, so that lookup and pull use the same image. go-containerregistry's own rules would resolve
// localhost/x to Docker Hub. Without tag and digest, the tag is latest; with both, the digest is used.
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

// givenDigest returns the digest in a reference, or "". It is on the path of every call.
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
