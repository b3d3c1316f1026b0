// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kubeconform

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// LocationsVariable is the environment variable with the permitted schema locations: comma-separated directories and URLs. The
// operator who runs the function sets it, not the author of the functionConfig.
const LocationsVariable = "KUBECONFORM_SCHEMA_LOCATIONS"

// permitted are the permitted locations. Everything below them is permitted too.
type permitted struct {
	directories []string
	urls        []*url.URL // a URL without a host permits every host
}

// Directory formats a directory as an element of LocationsVariable. The name may contain commas.
func Directory(path string) string {
	location := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	return strings.ReplaceAll(location.String(), ",", "%2C")
}

func permittedBy(environ []string) (permitted, error) {
	var p permitted
	for _, variable := range environ {
		list, found := strings.CutPrefix(variable, LocationsVariable+"=")
		if !found {
			continue
		}
		p = permitted{} // the last assignment wins
		for _, location := range splitList(list) {
			if !isURL(location) {
				directory, err := filepath.Abs(filepath.FromSlash(pathOf(location)))
				if err != nil {
					return p, fmt.Errorf("%s: %w", LocationsVariable, err)
				}
				p.directories = append(p.directories, directory)
				continue
			}
			parsed, err := url.Parse(location)
			if err != nil {
				return p, fmt.Errorf("%s: %q is not a URL", LocationsVariable, location)
			}
			p.urls = append(p.urls, parsed)
		}
	}
	return p, nil
}

func isURL(location string) bool {
	return strings.HasPrefix(location, "http://") || strings.HasPrefix(location, "https://")
}

// permits reports whether a URL is at or below a permitted URL.
func (p permitted) permits(u *url.URL) bool {
	return slices.ContainsFunc(p.urls, func(prefix *url.URL) bool {
		if u.Scheme != prefix.Scheme || u.User != nil || prefix.Host != "" && u.Host != prefix.Host {
			return false
		}
		below := strings.TrimSuffix(prefix.Path, "/") + "/"
		return !slices.Contains(strings.Split(u.Path, "/"), "..") && strings.HasPrefix(u.Path+"/", below)
	})
}

var errNotPermitted = errors.New("is not a permitted schema location")

// notPermitted returns the error for a location that is not permitted, with advice.
func notPermitted(location string) error {
	todo := "list its directory in " + LocationsVariable
	if isURL(location) {
		todo = "list its URL in " + LocationsVariable + ", or allow krmfn the network (render --allow-network, eval --network)"
	}
	return fmt.Errorf("%s %w: %s", location, errNotPermitted, todo)
}

// open opens a file below a permitted directory. Symbolic links cannot leave the directory. A relative name is looked up in all
// permitted directories. It also returns the absolute path.
func (p permitted) open(name string) (*os.File, string, error) {
	err := notPermitted(name)
	for _, directory := range p.directories {
		relative := name
		if filepath.IsAbs(name) {
			var outside error
			if relative, outside = filepath.Rel(directory, name); outside != nil {
				continue
			}
		}
		if !filepath.IsLocal(relative) {
			continue
		}
		var file *os.File
		if file, err = os.OpenInRoot(directory, relative); err == nil {
			return file, filepath.Join(directory, relative), nil
		}
	}
	return nil, "", err
}

// client returns an HTTP client that follows redirects only to permitted URLs.
func (p permitted) client() *http.Client {
	transport, _ := http.DefaultTransport.(*http.Transport)
	return &http.Client{Timeout: maxFetch, Transport: transport.Clone(), CheckRedirect: func(next *http.Request, via []*http.Request) error {
		const maxRedirects = 10 // as in net/http
		if len(via) >= maxRedirects {
			return fmt.Errorf("more than %d redirects", maxRedirects)
		}
		if !p.permits(next.URL) {
			return notPermitted(next.URL.Redacted())
		}
		return nil
	}}
}

// maxFetch is the timeout for fetching a schema.
const maxFetch = time.Minute

// maxSchema is the maximum size of a schema in bytes.
const maxSchema = 64 << 20

func readAtMost(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxSchema+1))
	if err == nil && len(text) > maxSchema {
		err = fmt.Errorf("more than %d MiB", maxSchema>>20)
	}
	return text, err
}

// pathOf returns the path of a file URL. It returns a path unchanged.
func pathOf(location string) string {
	rest, found := strings.CutPrefix(location, "file://")
	if !found {
		return location
	}
	if unescaped, err := url.PathUnescape(rest); err == nil {
		rest = unescaped
	}
	return path.Clean(rest)
}
