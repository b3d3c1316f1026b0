// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderhelmchart

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// chartLayers are the media types of the layer with the chart's archive.
var chartLayers = []types.MediaType{"application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"}

// pull downloads a chart from a repository of an OCI registry, such as example.com/charts/web.
func pull(ctx context.Context, repository string, wanted versions, login login) ([]byte, error) {
	parsed, err := name.NewRepository(repository)
	if err != nil {
		return nil, fmt.Errorf("registry %s: not a repository of a registry: want oci://HOST/PATH", redacted(ociScheme+repository))
	}
	options := []remote.Option{remote.WithContext(ctx), remote.WithTransport(bounded{}), remote.WithAuth(authn.Anonymous)}
	if login.username != "" {
		options = append(options, remote.WithAuth(&authn.Basic{Username: login.username, Password: login.password}))
	}
	archive, err := pullTag(parsed, wanted, options)
	if err != nil {
		return nil, fmt.Errorf("registry %s: %w", parsed, inRegistry(err))
	}
	return archive, nil
}

func pullTag(from name.Repository, wanted versions, options []remote.Option) ([]byte, error) {
	tag := wanted.text
	if !wanted.exact() {
		tags, err := remote.List(from, options...)
		if err != nil {
			return nil, err
		}
		at := wanted.highest(withPlus(tags))
		if at < 0 {
			return nil, fmt.Errorf("it has no version %s", wanted.text)
		}
		tag = tags[at]
	}
	// Tags cannot contain "+": Helm pushes 1.0.0+build as 1.0.0_build.
	artefact, err := remote.Image(from.Tag(strings.ReplaceAll(tag, "+", "_")), options...)
	if err != nil {
		return nil, err
	}
	manifest, err := artefact.Manifest()
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(manifest.Layers, func(layer v1.Descriptor) bool { return slices.Contains(chartLayers, layer.MediaType) })
	if at < 0 {
		return nil, errors.New("it has no Helm chart there")
	}
	layer, err := artefact.LayerByDigest(manifest.Layers[at].Digest)
	if err != nil {
		return nil, err
	}
	content, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	defer content.Close() //nolint:errcheck // only read from
	return readAtMost(content, maxChart)
}

// withPlus converts tags to versions.
func withPlus(tags []string) []string {
	all := slices.Clone(tags)
	for i := range all {
		all[i] = strings.ReplaceAll(all[i], "_", "+")
	}
	return all
}

// bounded is the default transport with a limit of maxChart bytes for responses. It does not send credentials without TLS,
// because the registry client falls back to HTTP in private networks.
type bounded struct{}

func (bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.URL.Scheme == "http" && request.Header.Get("Authorization") != "" && !loopback(request.URL.Hostname()) {
		return nil, errors.New("credentials are not sent without TLS")
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, maxChart+1)
	}
	return response, err
}

func loopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// inRegistry removes the registry's own messages and URLs from an error, because they may contain credentials.
func inRegistry(err error) error {
	if refused, ok := errors.AsType[*transport.Error](err); ok {
		return errors.New(statusText(refused.StatusCode))
	}
	return withoutURL(err)
}
