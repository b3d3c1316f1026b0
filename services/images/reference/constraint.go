// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
	"github.com/distribution/reference"
)

// Constraint is a version constraint in a function's field tag, such as ~0.1 or ">=1.0 <2". It is resolved with the list of the
// repository's tags.
type Constraint struct {
	// Repository is the full repository of the image, without tag and digest.
	Repository string
	// Versions is the constraint in the syntax of github.com/Masterminds/semver.
	Versions string
}

// FunctionConstraint returns the constraint of a Kptfile's function with the given fields image and tag; prefix is the prefix of short
// names. It returns false if the function has no valid constraint; ForFunction then returns the reference or the error.
func FunctionConstraint(name, tag, prefix string) (Constraint, bool) {
	if tag == "" || !isConstraint(tag) || IsLocal(name) {
		return Constraint{}, false
	}
	ref, err := Resolve(name, prefix)
	if err != nil {
		return Constraint{}, false
	}
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return Constraint{}, false
	}
	return Constraint{Repository: named.Name(), Versions: tag}, true
}

// Resolve returns the reference with the highest tag that satisfies the constraint. If several tags have the same version, such as v1.0
// and v1.0.0, it selects the longest. It ignores tags that begin with "sha256-", contain "-git-", or are not versions, and pre-releases
// unless the constraint has one. It returns an error if there is no such tag.
func (c Constraint) Resolve(tags []string) (string, error) {
	constraint, err := semver.NewConstraint(c.Versions)
	if err != nil {
		return "", fmt.Errorf("version constraint %q of image %q is invalid: %w", c.Versions, c.Repository, err)
	}
	var best, newest *semver.Version
	for _, tag := range tags {
		v := version(tag)
		if v == nil {
			continue
		}
		newest = higher(newest, v)
		if constraint.Check(v) {
			best = higher(best, v)
		}
	}
	switch {
	case best != nil:
		return c.Repository + ":" + best.Original(), nil
	case newest == nil:
		return "", fmt.Errorf("no tag could be found matching the version constraint %q: %s has no tag that is a version, among %d tags",
			c.Versions, c.Repository, len(tags))
	default:
		return "", fmt.Errorf("no tag could be found matching the version constraint %q: the highest version of %s is %s",
			c.Versions, c.Repository, newest.Original())
	}
}
