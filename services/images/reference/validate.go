// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"
)

// Validate checks a reference against the grammar of the OCI distribution specification.
func Validate(ref string) error {
	if _, err := reference.Parse(ref); err != nil {
		return fmt.Errorf("function image reference %q is invalid: %w", ref, err)
	}
	return nil
}

// ValidatePrefix checks a prefix for short names: the host of a registry and a path in it, or just one of them, with any
// number of slashes at its end. The empty prefix is valid and means none.
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
	// Only together with a name is it a reference: "localhost:5000" alone would pass for a name and its tag.
	if named, err := reference.ParseNormalizedNamed(path + "/function"); err != nil || !reference.IsNameOnly(named) {
		return fmt.Errorf("invalid image prefix %q: must be a valid registry path", prefix)
	}
	return nil
}
