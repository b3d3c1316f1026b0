// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// relinked gives links to further tags the scheme that the registry's client compares them with: that of the registry's
// name, which is http in local networks also where the registry has been found to speak TLS. Without it the client would
// refuse the link as one to another server. The request for it is sent with TLS where the first one was.
type relinked struct{ http.RoundTripper }

// link matches a Link header: what it refers to, and the rest.
var link = regexp.MustCompile(`^<([^>]*)>(.*)$`)

func (r relinked) RoundTrip(request *http.Request) (*http.Response, error) {
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
		return response, nil //nolint:nilerr // It is no name: the client would not have it either.
	}
	next, err := request.URL.Parse(parts[1])
	if err == nil && next.Scheme == request.URL.Scheme && next.Host == request.URL.Host {
		next.Scheme = registry.Scheme()
		response.Header.Set("Link", "<"+next.String()+">"+parts[2])
	}
	return response, nil
}
