// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference

import "strings"

// How references name Docker Hub, and the images there that belong to nobody.
const (
	hubHost       = "docker.io"
	formerHubHost = "index.docker.io"
	library       = "library/"
)

func isHub(host string) bool { return host == hubHost || host == formerHubHost }

// isHost tells whether something without a slash behind it is a registry, where it stands before one.
func isHost(element string) bool {
	return element == "localhost" || !strings.Contains(element, "/") &&
		(strings.ContainsAny(element, ".:") || strings.ToLower(element) != element)
}

// hubPath returns the path of a repository on Docker Hub, as it is written.
func hubPath(repository string) (string, bool) {
	host, path, ok := strings.Cut(repository, "/")
	switch {
	case !ok:
		return repository, true
	case isHub(host):
		return path, true
	case isHost(host):
		return "", false
	}
	return repository, true
}

// officialName returns the name of an image on Docker Hub that belongs to nobody: alpine, or library/alpine.
func officialName(path string) (string, bool) {
	name := strings.TrimPrefix(path, library)
	return name, !strings.Contains(name, "/")
}

// pathOf returns a prefix without its registry.
func pathOf(prefix string) string {
	if host, path, _ := strings.Cut(prefix, "/"); isHost(host) {
		return path
	}
	return prefix
}
