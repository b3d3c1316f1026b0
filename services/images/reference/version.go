// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"slices"
	"strings"

	"github.com/Masterminds/semver/v3"
)

// maxTag is the maximum length of a tag in bytes.
const maxTag = 128

// VersionTags returns the tags of a version such as "v0.4.5": the version and its shorter form "v0.4".
func VersionTags(version string) []string {
	return []string{version, version[:max(strings.LastIndexByte(version, '.'), 0)]}
}

// SameMinor reports whether tag is a full version, such as "v0.4.1", with the same major and minor numbers as the version of, such as
// "v0.4.5". It is false for a pre-release.
func SameMinor(tag, of string) bool {
	t, v := version(tag), version(of)
	return t != nil && v != nil && strings.Count(tag, ".") == 2 && t.Prerelease() == "" &&
		t.Major() == v.Major() && t.Minor() == v.Minor()
}

// NamesVersion reports whether the tag of a reference is a version, as opposed to "latest" or no tag.
func NamesVersion(ref string) bool {
	_, tag, _ := Split(ref)
	return version(tag) != nil
}

// Substitution returns a message if an image is evaluated by another version of its function than its tag: "set-labels:v9.9.9 is
// evaluated by v0.2.0". It returns "" if the tag is absent or matches the version, or if version is "" because it is unknown.
func Substitution(ref, version string) string {
	_, tag, _ := Split(ref)
	if version == "" || tag == "" || slices.Contains(VersionTags(version), tag) {
		return ""
	}
	return fmt.Sprintf("%s:%s is evaluated by %s", BaseName(ref), tag, version)
}

// version returns the version in a tag, or nil if the tag has none that a constraint may select.
func version(tag string) *semver.Version {
	if strings.HasPrefix(tag, "sha256-") || strings.Contains(tag, "-git-") {
		return nil
	}
	// A version with a plus sign, or one that is too long, is not a valid tag.
	v, err := semver.NewVersion(tag)
	if err != nil || strings.Contains(tag, "+") || len(tag) > maxTag {
		return nil
	}
	return v
}

// higher returns the higher version. For equal versions, the result does not depend on the order of the arguments.
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
