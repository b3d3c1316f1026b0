// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"errors"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
)

// The matching is the kubelet's (k8s.io/kubernetes/pkg/credentialprovider), so that what is asked about with credentials is
// pulled with the same ones. That package cannot be imported without all of Kubernetes. Its copy in go-containerregistry
// (pkg/authn/kubernetes) needs client-go, gives up on a file for one key, knows docker.io by one name, and takes the first
// match, where the kubelet tries all of them: an entry for r.io/team would hide that of r.io from r.io/teammate.

// place is a key of a docker config: a registry, or a part of it.
type place struct {
	// host is a pattern of a hostPath.
	host string
	port string
	path string
	// version says that the key ends with /v1 or /v2, without the slash that the kubelet wants.
	version bool
	// key is the place without scheme and version, by which the kubelet sorts.
	key string
}

// hub are the names of Docker Hub: its images' own, the one of its index, and that of its registry.
var hub = []string{"docker.io", name.DefaultRegistry, "registry-1.docker.io"}

func parsePlace(key string) (place, error) {
	parsed, err := parseAddress(key)
	if err != nil {
		return place{}, err
	}
	p := place{port: parsed.Port(), path: parsed.Path}
	p.version = p.path == "/v1" || p.path == "/v2"
	if p.version || strings.HasPrefix(p.path, "/v1/") || strings.HasPrefix(p.path, "/v2/") {
		p.path = p.path[len("/v1"):]
	}
	if p.path == "/" {
		p.path = ""
	}
	p.host = hostPath(parsed.Hostname())
	if _, err := path.Match(p.host, ""); err != nil {
		return place{}, errors.New("no registry's name")
	}
	p.key = parsed.Host + p.path
	return p, nil
}

// hostPath returns a host's name as a path, so that a wildcard of path.Match stays within one part of it.
func hostPath(host string) string { return strings.ReplaceAll(host, ".", "/") }

func parseAddress(key string) (*url.URL, error) {
	if !strings.HasPrefix(key, "https://") && !strings.HasPrefix(key, "http://") {
		key = "https://" + key
	}
	parsed, err := url.Parse(key)
	// Two slashes are what another scheme leaves.
	if err != nil || parsed.Hostname() == "" || parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" ||
		strings.Contains(parsed.Path, "//") {
		return nil, errors.New("not understood: want HOST[:PORT][/PATH]")
	}
	return parsed, nil
}

// wanted is a repository to find credentials for.
type wanted struct {
	// registry is its registry as the registry's client has it.
	registry string
	// hosts are the hostPaths of the registry's names, the most usual first.
	hosts []string
	port  string
	path  string
}

func newWanted(target authn.Resource) (wanted, bool) {
	parsed, err := parseAddress(target.String())
	if err != nil {
		return wanted{}, false
	}
	w := wanted{registry: target.RegistryStr(), port: parsed.Port(), path: parsed.Path}
	names := []string{parsed.Hostname()}
	if w.registry == name.DefaultRegistry {
		names = hub
	}
	for _, name := range names {
		w.hosts = append(w.hosts, hostPath(name))
	}
	return w, true
}

// server is how credential helpers know the registry.
func (w wanted) server() string {
	if w.registry == name.DefaultRegistry {
		return authn.DefaultAuthKey
	}
	return w.registry
}

// matching returns what the places have for a repository, the most specific first, and nothing twice. For the kubelet any
// beginning of a path is a match, also within a name; here such an entry comes after those which end where a name does.
func matching[T comparable](entries []entry[T], w wanted) []T {
	var whole, within []T
	for _, host := range w.hosts {
		for _, e := range entries {
			switch {
			case !e.place.has(host, w):
			case e.place.whole(w.path):
				whole = append(whole, e.value)
			default:
				within = append(within, e.value)
			}
		}
	}
	var all []T
	for _, value := range append(whole, within...) {
		if !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	return all
}

// compare puts the more specific place first: of one host the longer path, and a name before a wildcard, whose character is
// less than any of a name. It is the kubelet's order.
func (p place) compare(q place) int { return cmp.Compare(q.key, p.key) }

func (p place) has(host string, w wanted) bool {
	matched, err := path.Match(p.host, host)
	return err == nil && matched && p.port == w.port && strings.HasPrefix(w.path, p.path)
}

// whole tells whether the place's path, which the path begins with, ends where a name of the path does.
func (p place) whole(path string) bool {
	rest := path[len(p.path):]
	return p.path == "" || rest == "" || rest[0] == '/' || strings.HasSuffix(p.path, "/")
}
