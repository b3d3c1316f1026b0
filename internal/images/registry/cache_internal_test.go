// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import "testing"

// A lookup that begins just after another one has ended returns its result, without a request.
func TestLookupAfterAnotherUsesItsResult(t *testing.T) {
	t.Parallel()
	c := NewCache(t.Context(), nil, CacheOptions{})
	defer c.Close()
	c.tags.Add("fn:v1", &tag{digest: "sha256:one", lookupTime: c.now()})
	if got, err := c.digests.Do(t.Context(), "fn:v1"); got != "sha256:one" || err != nil {
		t.Errorf("digests.Do() = %q, %v", got, err)
	}
	key := pinned{"fn", "sha256:one"}
	c.images.Add(key, Image{Digest: key.digest})
	if got, err := c.configs.Do(t.Context(), key); got.Digest != key.digest || err != nil {
		t.Errorf("configs.Do() = %+v, %v", got, err)
	}
}
