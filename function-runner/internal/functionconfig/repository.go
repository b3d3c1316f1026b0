// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/services/images/reference"
)

// repositories returns the image below each of its prefixes, without tag, in their order.
func (b *builder) repositories(s *spec, v *verdict) []string {
	if s.image == "" {
		return nil
	}
	if _, tag, digest := reference.Split(s.image); tag != "" || digest != "" {
		v.problem("spec.image has a tag or digest: give the name alone, and tags with the executors")
		return nil
	}
	prefixes := s.prefixes
	if len(prefixes) == 0 {
		prefixes = []string{""}
	}
	var repositories []string
	for _, prefix := range prefixes {
		if prefix == "" {
			prefix = b.DefaultPrefix
		}
		repository, err := join(prefix, s.image)
		switch {
		case err != nil:
			v.problem("%v", err)
		case !slices.Contains(repositories, repository):
			repositories = append(repositories, repository)
		}
	}
	return repositories
}

// join returns the repository of an image below a prefix.
func join(prefix, name string) (string, error) {
	if err := reference.ValidatePrefix(prefix); err != nil {
		return "", err
	}
	repository := name
	if prefix = strings.TrimRight(prefix, "/"); prefix != "" {
		repository = prefix + "/" + name
	}
	if err := reference.Validate(repository); err != nil {
		return "", err
	}
	return repository, nil
}

var errNoTag = errors.New("must be a letter, digit or underscore, followed by at most 127 letters, digits, underscores, periods or dashes")

// tagged returns the reference of a tag.
func tagged(repository, tag string) (string, error) {
	ref := repository + ":" + tag
	if got, gotTag, digest := reference.Split(ref); got != repository || gotTag != tag || tag == "" || digest != "" || reference.Validate(ref) != nil {
		return "", fmt.Errorf("tag %q of spec.image %q is invalid: it %w", tag, reference.BaseName(repository), errNoTag)
	}
	return ref, nil
}
