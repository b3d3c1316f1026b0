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
	// maxBody is the most bytes of one answer. The specification of registries has 4 MiB for a manifest.
	maxBody = 8 << 20
	// maxErrorBody is where the text of an error ends. The registry's client would forget the status of one above 64 KiB.
	maxErrorBody = 32 << 10
	// headerTimeout is how long a registry may take to begin its answer.
	headerTimeout = 10 * time.Second
)

// NewTransport returns what a Client uses by default: it keeps connections, takes proxies from the environment and waits no
// longer than ten seconds for a connection, and for the head of an answer. A transport with certificate authorities of its
// own begins as a copy of it.
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

// withLimit bounds the answers to the context's requests to fewer bytes than maxBody.
func withLimit(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, limitKey{}, bytes)
}

// bounded ends the body of an answer with an error after maxBody bytes, or the context's limit. The registry's client reads
// manifests of 100 MB, and configs of any size.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxErrorBody), response.Body}
		return response, nil
	}
	limit, ok := request.Context().Value(limitKey{}).(int64)
	if !ok {
		limit = maxBody
	}
	response.Body = http.MaxBytesReader(nil, response.Body, limit)
	return response, nil
}
