// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"strings"

	"github.com/Masterminds/semver/v3"
	"github.com/distribution/reference"
)

// ForFunction returns the reference of a Kptfile's function with the given fields image and tag. It adds the prefix to a short name. A
// non-empty tag replaces tag and digest of the image. Without tag and digest, the default tag is used.
//
// It returns an error if image or tag is invalid, or if tag is a version constraint, which cannot be resolved without a registry; see
// FunctionConstraint.
func ForFunction(name, tag, prefix string) (string, error) {
	ref, err := Resolve(name, prefix)
	if err != nil {
		return "", err
	}
	switch {
	case IsLocal(ref) && tag != "":
		return "", fmt.Errorf("image %q is on this machine and takes no tag: remove the tag", ref)
	case IsLocal(ref):
		return ref, nil
	case tag != "":
		return withTag(ref, tag)
	}
	if err := Validate(ref); err != nil {
		return "", err
	}
	if _, has, digest := Split(ref); has == "" && digest == "" {
		return ref + ":" + DefaultTag, nil
	}
	return ref, nil
}

// withTag replaces tag and digest. Like kpt, it expands the repository: "alpine" becomes "docker.io/library/alpine".
func withTag(ref, tag string) (string, error) {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return "", fmt.Errorf("function image reference %q is invalid: %w", ref, err)
	}
	if isConstraint(tag) {
		return "", fmt.Errorf("`function.tag` %q of image %q is a version constraint, which cannot be resolved without a "+
			"registry: give an exact tag", tag, ref)
	}
	tagged, err := reference.WithTag(reference.TrimNamed(named), tag)
	if err != nil {
		return "", fmt.Errorf("`function.tag` %q must be a valid image tag: must start with an alphanumeric character "+
			"or underscore, followed by at most 127 alphanumeric characters, underscores, periods, or dashes", tag)
	}
	return tagged.String(), nil
}

// isConstraint reports whether tag is a version constraint. An exact version is a tag, although it is also a valid constraint.
func isConstraint(tag string) bool {
	if _, err := semver.NewVersion(tag); err == nil {
		return false
	}
	_, err := semver.NewConstraint(tag)
	return err == nil
}

// Validate checks a reference against the grammar of the OCI distribution specification. Names of local images are valid.
func Validate(ref string) error {
	if IsLocal(ref) {
		return nil
	}
	if _, err := reference.Parse(ref); err != nil {
		return fmt.Errorf("function image reference %q is invalid: %w", ref, err)
	}
	return nil
}

// ValidatePrefix checks a prefix for short names: a registry host, a path, or both, with any number of trailing slashes. The empty
// prefix is valid and means none.
func ValidatePrefix(prefix string) error {
	path := strings.TrimRight(prefix, "/")
	switch {
	case prefix == "":
		return nil
	case strings.Contains(prefix, "://"):
		return fmt.Errorf("invalid image prefix %q: must not include a scheme (e.g. https://)", prefix)
	case strings.ContainsAny(prefix, "?#"):
		return fmt.Errorf("invalid image prefix %q: must not contain '?' or '#'", prefix)
	}
	// Check the prefix with a name, because "localhost:5000" alone would be a name and its tag.
	if named, err := reference.ParseNormalizedNamed(path + "/function"); err != nil || !reference.IsNameOnly(named) {
		return fmt.Errorf("invalid image prefix %q: must be a valid registry path", prefix)
	}
	return nil
}
