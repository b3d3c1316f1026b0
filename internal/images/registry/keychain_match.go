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

// This file matches keys like the kubelet (k8s.io/kubernetes/pkg/credentialprovider), so that lookups and pulls use the same
// credentials. Importing that package would require all of Kubernetes. Its copy in go-containerregistry (pkg/authn/kubernetes) needs
// client-go, rejects a file because of a single key, knows only one name of Docker Hub, and uses only the first match, while the
// kubelet tries all: an entry for r.io/team would hide the one for r.io from r.io/teammate.

// place is a key of a docker config: a registry, or a part of it.
type place struct {
	// host is a path.Match pattern for hostPath.
	host string
	port string
	path string
	// version means that the key ends with /v1 or /v2, without the final slash that the kubelet expects.
	version bool
	// key is the place without scheme and version. The kubelet sorts by it.
	key string
}

// hub contains the host names of Docker Hub: in image references, of its index, and of its registry.
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
		return place{}, errors.New("not a registry's name")
	}
	p.key = parsed.Host + p.path
	return p, nil
}

// hostPath returns a host name as a path, so that a wildcard of path.Match matches only within one part of it.
func hostPath(host string) string { return strings.ReplaceAll(host, ".", "/") }

func parseAddress(key string) (*url.URL, error) {
	if !strings.HasPrefix(key, "https://") && !strings.HasPrefix(key, "http://") {
		key = "https://" + key
	}
	parsed, err := url.Parse(key)
	// Two slashes mean that the key has another scheme.
	if err != nil || parsed.Hostname() == "" || parsed.RawQuery != "" || parsed.ForceQuery || parsed.Fragment != "" ||
		strings.Contains(parsed.Path, "//") {
		return nil, errors.New("invalid: want HOST[:PORT][/PATH]")
	}
	return parsed, nil
}

// wanted is a repository for which credentials are needed.
type wanted struct {
	// registry is the name of its registry in go-containerregistry.
	registry string
	// hosts are the hostPaths of the registry's names, the most common one first.
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

// server returns the registry's name for credential helpers.
func (w wanted) server() string {
	if w.registry == name.DefaultRegistry {
		return authn.DefaultAuthKey
	}
	return w.registry
}

// matching returns the distinct values of the places that match a repository, the most specific first. Like in the kubelet, any prefix
// of a path matches, even if it ends within a name; such places come after those that end at the end of a name.
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

// compare sorts the more specific place first, in the kubelet's order: for one host, the longer path, and a name before a wildcard,
// because "*" sorts before all characters of names.
func (p place) compare(q place) int { return cmp.Compare(q.key, p.key) }

func (p place) has(host string, w wanted) bool {
	matched, err := path.Match(p.host, host)
	return err == nil && matched && p.port == w.port && strings.HasPrefix(w.path, p.path)
}

// whole reports whether the place's path ends at the end of a name in path. path must begin with it.
func (p place) whole(path string) bool {
	rest := path[len(p.path):]
	return p.path == "" || rest == "" || rest[0] == '/' || strings.HasSuffix(p.path, "/")
}
