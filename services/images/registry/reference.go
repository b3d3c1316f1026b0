// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// parse reads a reference as the kubelet does, so that what is asked about is what is pulled: a registry's client of its own
// rules would look for localhost/x on Docker Hub. Without tag and digest the tag is latest; with both the digest counts.
func parse(ref string) (name.Reference, error) {
	named, err := reference.ParseDockerRef(ref)
	if err != nil {
		return nil, fmt.Errorf("function image reference %q is invalid: %w", ref, err)
	}
	registry, err := name.NewRegistry(reference.Domain(named))
	if err != nil {
		return nil, fmt.Errorf("function image reference %q is invalid: %w", ref, err)
	}
	repository := registry.Repo(reference.Path(named))
	switch named := named.(type) {
	case reference.Digested:
		return repository.Digest(named.Digest().String()), nil
	case reference.Tagged:
		return repository.Tag(named.Tag()), nil
	default:
		return repository.Tag(name.DefaultTag), nil
	}
}

// givenDigest returns the digest that a reference names by itself, or "". It stands on the path of each call.
func givenDigest(ref string) (string, error) {
	_, after, ok := strings.Cut(ref, "@")
	if !ok {
		return "", nil
	}
	digest := after
	if _, err := v1.NewHash(digest); err != nil {
		return "", fmt.Errorf("digest of function image reference %q is invalid: %w", ref, err)
	}
	return digest, nil
}
