// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
)

// askDigest asks for a tag's digest and keeps the answer.
func (c *Cache) askDigest(ctx context.Context, ref string) (string, error) {
	asked := c.now()
	known, ok := c.tags.Peek(ref)
	// The last flight may have landed after the caller looked and before this one began.
	if ok && asked-known.asked < c.options.TTL {
		return known.digest, nil
	}
	digest, err := c.source.Digest(ctx, ref)
	if err != nil {
		if known, ok := c.tags.Peek(ref); ok {
			c.lost(ctx, ref, known, err)
		}
		return "", err
	}
	c.tags.Add(ref, &tag{digest: digest, asked: asked})
	switch {
	case ok && known.digest != digest:
		c.options.Log.InfoContext(ctx, "image tag has moved", "image", ref, "from", known.digest, "to", digest)
	case ok && known.warned.Load():
		c.options.Log.InfoContext(ctx, "registry answers again", "image", ref)
	}
	return digest, nil
}

// lost notes that a known tag could not be refreshed, and forgets it where the registry says that it is gone.
func (c *Cache) lost(ctx context.Context, ref string, known *tag, err error) {
	if ctx.Err() != nil {
		return
	}
	if _, ok := errors.AsType[*NotFoundError](err); ok {
		c.tags.Remove(ref)
		c.loaded.forget(ref)
		c.options.Log.WarnContext(ctx, "image tag is gone", "image", ref, "digest", known.digest, "error", err)
		return
	}
	known.failed.Store(int64(c.now()))
	if known.warned.CompareAndSwap(false, true) {
		c.options.Log.WarnContext(ctx, "registry cannot be asked, the image is used as it is known", "image", ref,
			"digest", known.digest, "age", c.now()-known.asked, "error", err)
	}
}

// askImage asks for an image and keeps the answer.
func (c *Cache) askImage(ctx context.Context, key pinned) (Image, error) {
	if known, ok := c.images.Peek(key); ok {
		return known, nil
	}
	found, err := c.source.Image(ctx, key.repository, key.digest)
	if err != nil {
		return Image{}, err
	}
	c.images.Add(key, found)
	return found, nil
}
