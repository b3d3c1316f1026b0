// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"fmt"
	"slices"
	"strings"
)

// Version is a version of Kubernetes, for example "v1.36.3".
type Version string

// Newest is the default version of clusters.
const Newest Version = "v1.36.3"

// versions lists the available versions, one for each minor version: the newest one, and the oldest one that the chart supports.
var versions = []Version{Newest, "v1.34.4"}

// Find returns the version for a minor version such as "1.34". An empty minor version means Newest.
func Find(minor string) (Version, error) {
	if minor == "" {
		return Newest, nil
	}
	known := make([]string, 0, len(versions))
	for _, v := range versions {
		if v.minor() == strings.TrimPrefix(minor, "v") {
			return v, nil
		}
		known = append(known, v.minor())
	}
	slices.Sort(known)
	return "", fmt.Errorf("no cluster can be made of Kubernetes %q: want a minor version out of %s", minor, strings.Join(known, ", "))
}

// minor returns the minor version, for example "1.36" for v1.36.3.
func (v Version) minor() string {
	text := strings.TrimPrefix(string(v), "v")
	return text[:strings.LastIndex(text, ".")]
}

// Published returns the reference of the kind project's image.
func (v Version) Published() string { return "docker.io/kindest/node:" + string(v) }

// images returns the common prefix of the references of all images built for a version.
func (v Version) images() string { return Repository + ":" + string(v) + "-" }
