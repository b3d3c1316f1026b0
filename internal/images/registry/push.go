// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/services/images/reference"
)

// Push writes an image or index, with everything that it contains, to the repository of ref. Content that the registry has is not sent
// again. If the registry rejects one of several credentials, the others are tried, because credentials that allow reading may not allow
// writing. A reference with tag and digest is written under its tag.
//
// Errors are *NotFoundError, *UnauthorizedError, *ThrottledError, the context's cause, and others, which may be temporary.
func (c *Client) Push(ctx context.Context, ref string, what remote.Taggable) error {
	target, err := parseTarget(ref)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, maxPullTime)
	defer cancel()
	bounded, sent := withSecrets(bounded)
	err = c.withEach(bounded, 0, func(keys *attempt) error {
		pusher, err := remote.NewPusher(slices.Concat(c.remote, []remote.Option{remote.WithAuthFromKeychain(keys)})...)
		if err != nil {
			return err
		}
		return pusher.Push(bounded, target, what)
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("push %s: %w", ref, context.Cause(ctx))
	case bounded.Err() != nil:
		return &failure{fmt.Sprintf("image %s took longer than %s to push: check the connection to the registry", ref, maxPullTime), err}
	default:
		return explain(err, sent)
	}
}

// parseTarget parses a reference to write to.
func parseTarget(ref string) (name.Reference, error) {
	parsed, err := parse(ref)
	if err != nil {
		return nil, err
	}
	if _, ok := parsed.(name.Digest); !ok {
		return parsed, nil
	}
	if _, tag, _ := reference.Split(ref); tag != "" {
		return parsed.Context().Tag(tag), nil
	}
	return parsed, nil
}
