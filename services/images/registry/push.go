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

// Push writes what was pulled, and all that it names, to where ref says. What the registry has already is not sent again. Where
// there are several credentials and the registry refuses some, the others are tried: what may be read need not be written. A
// reference with a tag and a digest is written by its tag.
//
// Errors: *NotFoundError, *UnauthorizedError, *ThrottledError, the context's cause, and others, which may pass.
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
		return &failure{fmt.Sprintf("image %s took longer than %s to push: check the way to the registry", ref, maxPullTime), err}
	default:
		return explain(err, sent)
	}
}

// parseTarget reads a reference to write to.
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
