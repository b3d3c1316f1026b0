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

	"github.com/krmfn/krmfn/services/server/version"
)

// Options are a Client's. Zero values mean the defaults.
type Options struct {
	// Keychain has the credentials; of a *Keychain those for a repository are tried one after the other, up to four. Default:
	// those of Docker's or Podman's configuration, anonymous without.
	Keychain authn.Keychain
	// Transport sends the requests. Default NewTransport(). One that is given is its owner's to close.
	Transport http.RoundTripper
	// Architecture is that of the image which counts where those of an index differ, as Go names it. Default: this process's.
	Architecture string
	// Timeout is the most that one question takes, with its redirects, tokens and repetitions. Default 30 seconds.
	Timeout time.Duration
}

// Client asks registries. It keeps connections; tokens and credentials it uses for a minute. It may be used by any number
// of goroutines at once.
type Client struct {
	options Options
	remote  []remote.Option
	pullers *lru.Cache[name.Repository, puller]
	// own is the transport where it is the client's.
	own *http.Transport
}

const (
	// defaultTimeout is longer than a caller waits, and Cache does not let one wait for it who can be served.
	defaultTimeout = 30 * time.Second
	// maxPullers bounds the repositories to which the way is kept.
	maxPullers = 256
)

// NewClient returns a Client. Nothing is asked yet.
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
		remote.WithTransport(noting{relinked{bounded{newThrottle(c.options.Transport)}}}),
		remote.WithJobs(maxAtOnce),
		remote.WithUserAgent("krmfn/" + version.Version()),
		// Hiccups only. The longer pauses of the client's own would be spent asleep while a call waits, and to repeat at
		// once what was one request too many (429) uses up the limit.
		remote.WithRetryBackoff(remote.Backoff{Duration: 100 * time.Millisecond, Factor: 3, Jitter: 0.1, Steps: 3}),
		remote.WithRetryStatusCodes(http.StatusRequestTimeout, http.StatusInternalServerError, http.StatusBadGateway,
			http.StatusServiceUnavailable, http.StatusGatewayTimeout),
	}
	return c
}

// Close closes the connections that are kept, where the transport is the client's own.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// Digest returns the digest of the manifest, or index, that a reference means now. A reference by digest costs no request.
// Errors: *NotFoundError, *UnauthorizedError, *ThrottledError, the context's cause, and others, which may pass.
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
		if !worthGet(err) {
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

// worthGet tells whether GET may find out what HEAD did not: the registry did not want the HEAD, or answered without what is
// needed. The answer to a HEAD also has no text that could be handed on.
func worthGet(err error) bool {
	if answer, ok := errors.AsType[*transport.Error](err); ok {
		code := answer.StatusCode
		// Not that of the token server: failed attempts are counted there.
		return answer.Request != nil && answer.Request.Method == http.MethodHead &&
			(code < http.StatusInternalServerError || code == http.StatusNotImplemented) &&
			code != http.StatusTooManyRequests && code != http.StatusRequestTimeout
	}
	var request *url.Error
	return !errors.As(err, &request) && !ended(err)
}

// Image returns what the config says of the image with this digest in the repository of ref, whatever tag or digest ref has.
// Of an index, it is the config of the linux image for Options.Architecture, or else of the first linux image that the
// registry has; see Image.Platforms for the others, of which up to 64 are read.
//
// Errors: *NotFoundError, *UnauthorizedError, *UnusableError, *ThrottledError, the context's cause, and others, which may
// pass.
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
