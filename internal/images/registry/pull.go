// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// maxPullTime is the maximum time for pulling or pushing one image.
const maxPullTime = 15 * time.Minute

// Pull passes the manifest or index with the given digest in the repository of ref to use, which reads the rest of the image through
// it. Content is verified against its digests. maxBytes limits each response. If the registry rejects one of several credentials, use
// is called again from the start.
//
// Errors are the error of use, *NotFoundError, *UnauthorizedError, *ThrottledError, the context's cause, and others, which may be
// temporary.
func (c *Client) Pull(ctx context.Context, ref, digest string, maxBytes int64, use func(context.Context, *remote.Descriptor) error) error {
	parsed, err := parse(ref)
	if err != nil {
		return err
	}
	if _, err := v1.NewHash(digest); err != nil {
		return fmt.Errorf("digest %q of function image %q is invalid: %w", digest, ref, err)
	}
	bounded, cancel := context.WithTimeout(withLimit(ctx, maxBytes), maxPullTime)
	defer cancel()
	bounded, sent := withSecrets(bounded)
	err = c.askOnce(bounded, parsed.Context(), func(ctx context.Context, p *remote.Puller) error {
		manifest, err := p.Get(ctx, parsed.Context().Digest(digest))
		if err != nil {
			return err
		}
		return use(ctx, manifest)
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("pull %s: %w", ref, context.Cause(ctx))
	case bounded.Err() != nil:
		return &failure{fmt.Sprintf("image %s took longer than %s to pull: check the connection to the registry", ref, maxPullTime), err}
	}
	return explain(err, sent)
}
