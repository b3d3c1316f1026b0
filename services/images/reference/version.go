// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// maxTag is the most bytes of a tag.
const maxTag = 128

// VersionTags returns the tags that mean a version, such as "v0.4.5": the version, and the shorter tag that follows it, "v0.4".
func VersionTags(version string) []string {
	return []string{version, version[:max(strings.LastIndexByte(version, '.'), 0)]}
}

// SameMinor reports whether a tag is a full version, such as "v0.4.1", whose major and minor numbers are those of a version, such as
// "v0.4.5". A pre-release is no such version.
func SameMinor(tag, of string) bool {
	t, v := version(tag), version(of)
	return t != nil && v != nil && strings.Count(tag, ".") == 2 && t.Prerelease() == "" &&
		t.Major() == v.Major() && t.Minor() == v.Minor()
}

// NamesVersion tells whether the tag of a reference is a version, as opposed to one such as "latest", or none.
func NamesVersion(ref string) bool {
	_, tag, _ := Split(ref)
	return version(tag) != nil
}

// Substitution says that an image is evaluated by another version of its function than its tag names: "set-labels:v9.9.9 is
// evaluated by v0.2.0". It is "" where the image has a tag of that version or none, and where the version is "", as it is not
// known.
func Substitution(ref, version string) string {
	_, tag, _ := Split(ref)
	if version == "" || tag == "" || slices.Contains(VersionTags(version), tag) {
		return ""
	}
	return fmt.Sprintf("%s:%s is evaluated by %s", BaseName(ref), tag, version)
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
