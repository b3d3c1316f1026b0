// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"

	"github.com/distribution/reference"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

const (
	// maxTags and maxTagPages limit the number of tags and pages that are read.
	maxTags     = 10_000
	maxTagPages = 64
)

// validTag returns a regular expression for tags that are valid in a reference.
var validTag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^" + reference.TagRegexp.String() + "$") })

// Tags returns all tags of a repository, in the registry's order, which is usually alphabetical. It ignores a tag or digest in
// repository, and tags that are invalid in a reference.
//
// It returns an error if there are more than 10,000 tags, or more than 64 pages. Other errors are *NotFoundError, *UnauthorizedError,
// *ThrottledError, the context's cause, and others, which may be temporary.
func (c *Client) Tags(ctx context.Context, repository string) ([]string, error) {
	parsed, err := parse(repository)
	if err != nil {
		return nil, err
	}
	var tags []string
	err = c.ask(ctx, parsed.Context(), func(ctx context.Context, p *remote.Puller) error {
		tags, err = list(ctx, p, parsed.Context())
		return err
	})
	if err != nil {
		return nil, err
	}
	return tags, nil
}

func list(ctx context.Context, p *remote.Puller, repository name.Repository) ([]string, error) {
	tags := []string{}
	lister, err := p.Lister(ctx, repository)
	if err != nil {
		return nil, err
	}
	for range maxTagPages {
		page, err := lister.Next(ctx)
		if err != nil {
			return nil, err
		}
		for _, tag := range page.Tags {
			if validTag().MatchString(tag) {
				tags = append(tags, tag)
			}
		}
		if len(tags) > maxTags {
			return nil, fmt.Errorf("%s has more than %d tags: name one of them, or delete those that nobody uses", repository, maxTags)
		}
		if !lister.HasNext() {
			return tags, nil
		}
	}
	return nil, fmt.Errorf("%s has more than %d pages of tags: name one of them, or delete those that nobody uses", repository, maxTagPages)
}

// linkRewriter changes the scheme of links to further pages to the one that go-containerregistry expects for the registry's name. For local
// networks that is http, even after the registry turned out to use TLS. Otherwise the library would reject the link as one to another
// server. The next request uses TLS if the first one did.
type linkRewriter struct{ http.RoundTripper }

// link matches a Link header: the target, and the rest.
var link = regexp.MustCompile(`^<([^>]*)>(.*)$`)

func (r linkRewriter) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := r.RoundTripper.RoundTrip(request)
	if err != nil || !strings.HasSuffix(request.URL.Path, "/tags/list") {
		return response, err
	}
	parts := link.FindStringSubmatch(response.Header.Get("Link"))
	if parts == nil {
		return response, nil
	}
	registry, err := name.NewRegistry(request.URL.Host)
	if err != nil {
		return response, nil //nolint:nilerr // the client rejects an invalid name, too
	}
	next, err := request.URL.Parse(parts[1])
	if err == nil && next.Scheme == request.URL.Scheme && next.Host == request.URL.Host {
		next.Scheme = registry.Scheme()
		response.Header.Set("Link", "<"+next.String()+">"+parts[2])
	}
	return response, nil
}
