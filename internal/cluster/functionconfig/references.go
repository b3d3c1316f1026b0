// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/services/images/reference"
)

// Repositories returns the image with each of its prefixes, without a tag, in order. defaultPrefix replaces empty prefixes. Invalid
// repositories are omitted and reported as errors. An object without an image has no repositories.
func (o *Object) Repositories(defaultPrefix string) (repositories []string, problems []error) {
	if o.Image == "" {
		return nil, nil
	}
	if _, tag, digest := reference.Split(o.Image); tag != "" || digest != "" {
		return nil, []error{errors.New("spec.image has a tag or digest: give the name alone, and tags with the executors")}
	}
	prefixes := o.Prefixes
	if len(prefixes) == 0 {
		prefixes = []string{""}
	}
	for _, prefix := range prefixes {
		repository, err := join(cmp.Or(prefix, defaultPrefix), o.Image)
		switch {
		case err != nil:
			problems = append(problems, err)
		case !slices.Contains(repositories, repository):
			repositories = append(repositories, repository)
		}
	}
	return repositories, problems
}

// join returns the repository of an image with a prefix.
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

// ErrInvalidTag reports a tag that cannot be part of a reference.
var ErrInvalidTag = errors.New("must be a letter, digit or underscore, followed by at most 127 letters, digits, underscores, periods or dashes")

// Tagged returns the reference of a repository and a tag.
func Tagged(repository, tag string) (string, error) {
	ref := repository + ":" + tag
	if got, gotTag, digest := reference.Split(ref); got != repository || gotTag != tag || tag == "" || digest != "" || reference.Validate(ref) != nil {
		return "", fmt.Errorf("tag %q of spec.image %q is invalid: it %w", tag, reference.BaseName(repository), ErrInvalidTag)
	}
	return ref, nil
}
