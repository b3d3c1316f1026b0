// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/distribution/reference"
)

// maxTag is the most bytes of a tag.
const maxTag = 128

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
	if tag == "" || !isConstraint(tag) {
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

// version returns the version that a tag is; nil for none that a constraint may choose.
func version(tag string) *semver.Version {
	if strings.HasPrefix(tag, "sha256-") || strings.Contains(tag, "-git-") {
		return nil
	}
	// With a plus sign, or longer, it is a version and no tag.
	v, err := semver.NewVersion(tag)
	if err != nil || strings.Contains(tag, "+") || len(tag) > maxTag {
		return nil
	}
	return v
}

// higher returns the higher version, and of two that are the same one that does not depend on the order.
func higher(a, b *semver.Version) *semver.Version {
	if a == nil {
		return b
	}
	order := b.Compare(a)
	if order == 0 {
		order = len(b.Original()) - len(a.Original())
	}
	if order > 0 || order == 0 && b.Original() > a.Original() {
		return b
	}
	return a
}
