// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package reference handles image references of functions: short names and their prefix, tags and digests. References follow the
// grammar of the OCI distribution specification. They may have both a tag and a digest.
//
// [Resolve] adds the prefix to a short name, and [ForFunction] returns the reference of a function in a Kptfile. If the function has a
// version constraint instead of a tag, [FunctionConstraint] returns a [Constraint] that selects one of the repository's tags. [Rewrites]
// replaces prefixes, for example with a mirror's.
package reference

import (
	"errors"
	"fmt"
	"strings"
)

// Prefixes of the KRM functions catalog.
const (
	// CatalogPrefix is the prefix of the catalog, and the default prefix of short names.
	CatalogPrefix = "ghcr.io/kptdev/krm-functions-catalog"
	// FormerCatalogPrefix is the previous prefix of the catalog, which packages still use.
	FormerCatalogPrefix = "gcr.io/kpt-fn"
)

// DefaultTag is the tag of an image without tag and digest in a Kptfile.
const DefaultTag = "latest"

// IsLocal reports whether a name is the location of an image on this machine: oci:DIR[:NAME] is an OCI layout, and
// docker-archive:FILE[:NAME] is the output of docker save. Such a name is not a reference and gets no prefix.
func IsLocal(name string) bool {
	return strings.HasPrefix(name, "oci:") || strings.HasPrefix(name, "docker-archive:")
}

// Resolve adds the prefix to a short name, which is a name without slashes. Trailing slashes of the prefix are ignored. Names with
// slashes, and all names if the prefix is empty, remain unchanged, as do tags and digests.
//
// A name that is empty, or that contains white space, control characters or non-ASCII characters, is an error. Resolve checks nothing
// else, because it is on the path of every call; see Validate.
func Resolve(name, prefix string) (string, error) {
	if name == "" {
		return "", errors.New("image is empty: set it to a function image")
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return "", fmt.Errorf("image %q has a character that is not allowed in a reference, at byte %d: remove it", name, i)
		}
	}
	prefix = strings.TrimRight(prefix, "/")
	if prefix == "" || strings.Contains(name, "/") || IsLocal(name) {
		return name, nil
	}
	return prefix + "/" + name, nil
}

// Split splits a reference into repository, tag (without colon) and digest ("algorithm:hex", without at sign). Absent parts are empty.
// It checks nothing.
func Split(ref string) (repository, tag, digest string) {
	repository, digest, _ = strings.Cut(ref, "@")
	// A colon before the last slash belongs to the registry's port.
	if colon := strings.LastIndexByte(repository, ':'); colon > strings.LastIndexByte(repository, '/') {
		return repository[:colon], repository[colon+1:], digest
	}
	return repository, "", digest
}

// BaseName returns the last path element of a reference's repository, which is the function's name in the catalog.
func BaseName(ref string) string {
	repository, _, _ := Split(ref)
	return repository[strings.LastIndexByte(repository, '/')+1:]
}

// CatalogName returns the name of the catalog function of a reference: one with a catalog prefix or with one of the given prefixes, or
// a short name. Tag and digest are ignored. For other references, it returns "".
func CatalogName(ref string, prefixes ...string) string {
	repository, _, _ := Split(ref)
	slash := strings.LastIndexByte(repository, '/')
	switch {
	case IsLocal(ref):
		return ""
	case slash < 0:
		return repository
	}
	prefix, name := repository[:slash], repository[slash+1:]
	if prefix == CatalogPrefix || prefix == FormerCatalogPrefix {
		return name
	}
	for _, p := range prefixes {
		if p = strings.TrimRight(p, "/"); p != "" && p == prefix {
			return name
		}
	}
	return ""
}
