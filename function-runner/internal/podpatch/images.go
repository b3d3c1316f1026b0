// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podpatch

import (
	"fmt"
	"strings"

	distribution "github.com/distribution/reference"

	"github.com/krmfn/krmfn/services/images/reference"
)

// pattern matches images by repository: one repository, or all repositories below a path.
type pattern struct {
	repository string
	below      bool
}

// newPattern parses a pattern: a repository, or a path followed by /*.
func newPattern(text string) (pattern, error) {
	path, below := strings.CutSuffix(text, "/*")
	if !below && !strings.Contains(path, "/") {
		return pattern{}, fmt.Errorf("%q names no registry: want REGISTRY/PATH, or REGISTRY/PATH/* for all below", text)
	}
	// With a single path element, the parser would treat the name as an official image of Docker Hub and add an element.
	const child = "/team/function"
	full := path
	if below {
		full += child
	}
	named, err := distribution.ParseNormalizedNamed(full)
	if err != nil || !distribution.IsNameOnly(named) {
		return pattern{}, fmt.Errorf("%q is not valid: want REGISTRY/PATH without tag or digest, or REGISTRY/PATH/* for all below", text)
	}
	return pattern{repository: strings.TrimSuffix(normal(named), child), below: below}, nil
}

func (p pattern) matches(repository string) bool {
	if p.below {
		rest, ok := reference.CutPrefix(repository, p.repository)
		return ok && rest != ""
	}
	return repository == p.repository
}

// repositoryOf returns the repository of a resolved reference, in the form of patterns.
func repositoryOf(ref string) string {
	named, err := distribution.ParseNormalizedNamed(ref)
	if err != nil {
		repository, _, _ := reference.Split(ref)
		return repository
	}
	return normal(named)
}

// normal returns the normal form of a repository. It lower-cases the registry and drops default ports, so that a caller cannot bypass the
// settings of an image with another spelling.
func normal(named distribution.Named) string {
	host := strings.ToLower(distribution.Domain(named))
	host = strings.TrimSuffix(strings.TrimSuffix(host, ":443"), ":80")
	return host + "/" + distribution.Path(named)
}
