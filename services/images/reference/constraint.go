// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"

	"github.com/Masterminds/semver/v3"
	"github.com/distribution/reference"
)

// Constraint is a version constraint in a function's field tag: ~0.1 or >=1.0 <2. It takes the list of the repository's
// tags to tell which image is meant.
type Constraint struct {
	// Repository is the image's, spelt out, without tag and digest.
	Repository string
	// Versions are the versions that satisfy, in the grammar of github.com/Masterminds/semver.
	Versions string
}

// FunctionConstraint returns the constraint that a Kptfile's function has by its fields image and tag, resolved with the
// prefix. It is false where the function has none, and ForFunction tells the image, or what is wrong.
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

// Resolve returns the reference with the highest of the tags that satisfies, spelt as it is there. Of those of one version,
// such as v1.0 and v1.0.0, the longest counts. Tags that begin with "sha256-", have "-git-" in them or are no versions do
// not count; pre-releases do only where the constraint has one. The error says that there is none.
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
