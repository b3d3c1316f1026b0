// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	distribution "github.com/distribution/reference"

	"github.com/krmfn/krmfn/services/images/reference"
)

// parsed is a reference in the form that container runtimes use.
type parsed struct {
	// reference is the reference in the request. repository is the full repository, with registry.
	reference, repository string
	// tag and digest are empty if absent. If both are absent, tag is the default one.
	tag, digest string
}

// parse parses a reference. The error is a *RefusedError, because an invalid reference is not permitted.
func parse(ref string) (parsed, error) {
	named, err := distribution.ParseNormalizedNamed(ref)
	if err != nil {
		return parsed{}, &RefusedError{ref, RuleReference, "it is not a valid reference: want REGISTRY/PATH:TAG, or @DIGEST, with the path in small letters"}
	}
	p := parsed{reference: ref, repository: named.Name()}
	if tagged, ok := distribution.TagNameOnly(named).(distribution.Tagged); ok {
		p.tag = tagged.Tag()
	}
	if digested, ok := named.(distribution.Digested); ok {
		p.digest = digested.Digest().String()
	}
	return p, nil
}

// floats reports whether the reference may name another image later: it has no digest, and no full version.
func (p *parsed) floats() bool {
	if p.digest != "" {
		return false
	}
	_, err := semver.StrictNewVersion(strings.TrimPrefix(p.tag, "v"))
	return err != nil
}

func normalPrefix(prefix string) (string, error) {
	if err := reference.ValidatePrefix(prefix); err != nil || prefix == "" {
		return "", fmt.Errorf("prefix %q is not a registry path", prefix)
	}
	// Append two path elements: with only one, ParseNormalizedNamed could insert "library/" for Docker Hub.
	const below = "/team/function"
	named, err := distribution.ParseNormalizedNamed(strings.TrimRight(prefix, "/") + below)
	if err != nil {
		return "", fmt.Errorf("prefix %q is not a registry path: %w", prefix, err)
	}
	return strings.TrimSuffix(named.Name(), below), nil
}

func normalRepository(repository string) (string, error) {
	named, err := distribution.ParseNormalizedNamed(repository)
	switch {
	case err != nil:
		return "", fmt.Errorf("repository %q is not valid: %w", repository, err)
	case !distribution.IsNameOnly(named):
		return "", fmt.Errorf("repository %q has a tag or a digest: leave it out, or set digest", repository)
	}
	return named.Name(), nil
}

func checkDigest(digest string) error {
	if _, err := distribution.Parse("function@" + digest); err != nil {
		return fmt.Errorf("digest %q is not valid: want sha256: and 64 hexadecimal digits in small letters", digest)
	}
	return nil
}
