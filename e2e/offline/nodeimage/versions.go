// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodeimage

import (
	"fmt"
	"slices"
	"strings"
)

// Version is one of Kubernetes, "v1.36.3".
type Version string

// Newest is the version of clusters that ask for no other.
const Newest Version = "v1.36.3"

// versions are those that clusters can have, one for each minor version: the newest, and the oldest that the chart claims to run on.
var versions = []Version{Newest, "v1.34.4"}

// Find returns the version of a minor version, "1.34"; Newest for none.
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

// minor is "1.36" of v1.36.3.
func (v Version) minor() string {
	text := strings.TrimPrefix(string(v), "v")
	return text[:strings.LastIndex(text, ".")]
}

// Published is the image of the kind project.
func (v Version) Published() string { return "docker.io/kindest/node:" + string(v) }

// images is what the references of all images that are built of a version begin with.
func (v Version) images() string { return Repository + ":" + string(v) + "-" }
