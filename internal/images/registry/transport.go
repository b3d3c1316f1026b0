// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	// maxBodyBytes is the maximum size of a response in bytes. The OCI distribution specification requires 4 MiB for manifests.
	maxBodyBytes = 8 << 20
	// maxErrorBodyBytes limits the body of an error response. go-containerregistry loses the status of one above 64 KiB.
	maxErrorBodyBytes = 32 << 10
	// headerTimeout is the maximum time until a registry sends the headers of its response.
	headerTimeout = 10 * time.Second
)

// NewTransport returns the default transport of a Client. It keeps connections alive, uses proxies from the environment, and waits at
// most 10 seconds for a connection and for response headers. Trust adds certificate authorities to it.
func NewTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          100,
		MaxIdleConnsPerHost:   8,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: headerTimeout,
	}
}

type limitKey struct{}

// withLimit returns a context that limits its responses to the given number of bytes instead of maxBodyBytes.
func withLimit(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, limitKey{}, bytes)
}

// limitedTransport is a transport whose response bodies return an error after maxBodyBytes bytes, or the context's limit.
// go-containerregistry itself reads manifests of 100 MB, and configs of any size.
type limitedTransport struct{ http.RoundTripper }

func (b limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxErrorBodyBytes), response.Body}
		return response, nil
	}
	limit, ok := request.Context().Value(limitKey{}).(int64)
	if !ok {
		limit = maxBodyBytes
	}
	response.Body = http.MaxBytesReader(nil, response.Body, limit)
	return response, nil
}
