// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/krmfn/krmfn/internal/server/version"
)

// Options configure a Client. Zero values mean the defaults.
type Options struct {
	// Keychain provides credentials. If it is a *Keychain, up to four matching credentials are tried in turn. The default is Docker's
	// or Podman's configuration, or anonymous access without one.
	Keychain authn.Keychain
	// Transport sends the requests. The default is NewTransport(). The caller closes a transport that it passes.
	Transport http.RoundTripper
	// Architecture selects the image of an index whose images differ, as a GOARCH value. The default is this process's.
	Architecture string
	// Timeout is the maximum duration of a lookup, including redirects, tokens and retries. The default is 30 seconds.
	Timeout time.Duration
}

// Client looks up images in registries. It keeps connections alive, and reuses tokens and credentials for a minute. It is safe for
// concurrent use.
type Client struct {
	options Options
	remote  []remote.Option
	pullers *lru.Cache[name.Repository, puller]
	// own is the transport if the client created it.
	own *http.Transport
}

const (
	// defaultTimeout is longer than callers wait: Cache does not let a caller with a cached result wait for a lookup.
	defaultTimeout = 30 * time.Second
	// maxPullers is the maximum number of cached pullers, one per repository.
	maxPullers = 256
)

// NewClient returns a client. It sends no requests.
func NewClient(options Options) *Client {
	c := &Client{options: options}
	if options.Transport == nil {
		c.own = NewTransport()
		c.options.Transport = c.own
	}
	if options.Keychain == nil {
		c.options.Keychain = authn.DefaultKeychain
	}
	c.options.Architecture = cmp.Or(options.Architecture, runtime.GOARCH)
	c.options.Timeout = cmp.Or(options.Timeout, defaultTimeout)
	c.pullers = newLRU[name.Repository, puller](maxPullers)
	c.remote = []remote.Option{
		remote.WithTransport(recordingTransport{linkRewriter{limitedTransport{newThrottle(c.options.Transport)}}}),
		remote.WithJobs(maxConcurrentReads),
		remote.WithUserAgent("krmfn/" + version.Version()),
		// Retry only short failures. go-containerregistry's default pauses would block a call for longer. Do not retry 429, because
		// further requests count against the limit.
		remote.WithRetryBackoff(remote.Backoff{Duration: 100 * time.Millisecond, Factor: 3, Jitter: 0.1, Steps: 3}),
		remote.WithRetryStatusCodes(http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
			http.StatusServiceUnavailable, http.StatusGatewayTimeout),
	}
	return c
}

// Close closes idle connections of a transport that the client created.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Digest returns the current digest of the manifest or index that a reference names. A reference by digest needs no request. Errors are
// *NotFoundError, *UnauthorizedError, *ThrottledError, the context's cause, and others, which may be temporary.
func (c *Client) Digest(ctx context.Context, ref string) (string, error) {
	parsed, err := parse(ref)
	if err != nil {
		return "", err
	}
	if digest, ok := parsed.(name.Digest); ok {
		return digest.DigestStr(), nil
	}
	var digest v1.Hash
	err = c.ask(ctx, parsed.Context(), func(ctx context.Context, p *remote.Puller) error {
		head, err := p.Head(ctx, parsed)
		if err == nil {
			digest = head.Digest
			return nil
		}
		if !shouldRetryWithGet(err) {
			return err
		}
		manifest, err := p.Get(ctx, parsed)
		if err == nil {
			digest = manifest.Digest
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return digest.String(), nil
}

// shouldRetryWithGet reports whether a GET may succeed after a HEAD has failed: the registry rejected the HEAD, or its response was
// incomplete. The response to a HEAD also has no text for an error message.
func shouldRetryWithGet(err error) bool {
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		code := answer.StatusCode
		// Do not repeat a rejected request to the token server, because it counts failed attempts.
		return answer.Request != nil && answer.Request.Method == http.MethodHead &&
			(code < http.StatusInternalServerError || code == http.StatusNotImplemented) &&
			code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
	}
	var request *url.Error
	return !errors.As(err, &request) && !ended(err)
}

// Image returns the image with the given digest in the repository of ref; the tag or digest in ref is ignored. For an index, it reads
// the config of the linux image for Options.Architecture, or else of the first linux image that the registry has. Image.Platforms lists
// the others, of which it reads up to 64.
//
// Errors are *NotFoundError, *UnauthorizedError, *UnusableError, *ThrottledError, the context's cause, and others, which may be
// temporary.
func (c *Client) Image(ctx context.Context, ref, digest string) (Image, error) {
	parsed, err := parse(ref)
	if err != nil {
		return Image{}, err
	}
	if _, err := v1.NewHash(digest); err != nil {
		return Image{}, fmt.Errorf("digest %q of function image %q is invalid: %w", digest, ref, err)
	}
	var image Image
	err = c.ask(ctx, parsed.Context(), func(ctx context.Context, p *remote.Puller) error {
		manifest, err := p.Get(ctx, parsed.Context().Digest(digest))
		if err != nil {
			return err
		}
		r := &reader{puller: p, repository: parsed.Context(), architecture: c.options.Architecture, ref: ref, digest: digest}
		image, err = r.read(ctx, manifest)
		return err
	})
	return image, err
}
