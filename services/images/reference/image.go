// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package reference handles the image references by which functions are named: short names and their prefix, tags and
// digests. References have the grammar of the OCI distribution specification; a tag and a digest may stand together.
package reference

import (
	"errors"
	"fmt"
	"strings"
)

// The prefixes under which the catalog of KRM functions is published.
const (
	// CatalogPrefix is where the catalog lives, and the default prefix of short names.
	CatalogPrefix = "ghcr.io/kptdev/krm-functions-catalog"
	// FormerCatalogPrefix is where the catalog lived before; packages still name it.
	FormerCatalogPrefix = "gcr.io/kpt-fn"
)

// DefaultTag is what a Kptfile's image gets that has neither tag nor digest.
const DefaultTag = "latest"

// IsLocal tells whether an image is named by where it is on this machine: oci:DIR[:NAME] is an OCI layout, docker-archive:FILE[:NAME]
// what docker save writes. Such a name is no reference, and means what it says whatever the prefix.
func IsLocal(name string) bool {
	return strings.HasPrefix(name, "oci:") || strings.HasPrefix(name, "docker-archive:")
}

// Resolve gives a short name, one without any slash, its prefix; slashes at the prefix's end do not count. A name with a
// slash, and any name when the prefix is empty, stays as it is. Tags and digests are left alone.
//
// An empty name, and one with white space, control or non-ASCII characters, is an error. The rest of the grammar is not
// checked, so that Resolve can stand on the path of every call; see Validate.
func Resolve(name, prefix string) (string, error) {
	if name == "" {
		return "", errors.New("image is empty: name a function image")
	}
	for i := range len(name) {
		if name[i] <= ' ' || name[i] >= 0x7f {
			return "", fmt.Errorf("image %q has a character that is no part of a reference, at byte %d: remove it", name, i)
		}
	}
	prefix = strings.TrimRight(prefix, "/")
	if prefix == "" || strings.Contains(name, "/") || IsLocal(name) {
		return name, nil
	}
	return prefix + "/" + name, nil
}

// Split cuts a reference into its parts. The tag comes without its colon; the digest without its at sign, as
// "algorithm:hex". A part that is absent is empty. Nothing is checked.
func Split(ref string) (repository, tag, digest string) {
	repository, digest, _ = strings.Cut(ref, "@")
	// A colon before the last slash belongs to the registry's port.
	if colon := strings.LastIndexByte(repository, ':'); colon > strings.LastIndexByte(repository, '/') {
		return repository[:colon], repository[colon+1:], digest
	}
	return repository, "", digest
}

// BaseName returns the last path element of a reference's repository: the function's name in the catalog.
func BaseName(ref string) string {
	repository, _, _ := Split(ref)
	return repository[strings.LastIndexByte(repository, '/')+1:]
}

// CatalogName returns the name of the catalog function that a reference means: one under either catalog prefix, under
// one of the further prefixes, or a short name; whatever its tag or digest. It is "" for every other reference.
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
