// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"maps"
	"slices"
	"strings"

	"github.com/krmfn/krmfn/services/images/reference"
)

// known contains images that were learned elsewhere. They are separate from the cache, because made-up references would evict them
// there. It is immutable.
type known struct {
	tags   map[string]string
	images map[pinned]Image
}

// Load adds images that were learned elsewhere, for example from a file. They replace those of the previous Load, need no requests, and
// are never evicted. A loaded tag is refreshed in the background at its first use; a lookup within the TTL takes precedence. The caller
// must not modify images afterwards.
func (c *Cache) Load(images []Image) {
	loaded := &known{tags: make(map[string]string, len(images)), images: make(map[pinned]Image, len(images))}
	for _, i := range images {
		repository, _, digest := reference.Split(i.Reference)
		loaded.images[pinned{repository, i.Digest}] = i
		if digest == "" {
			loaded.tags[i.Reference] = i.Digest
		}
	}
	c.loading.Lock()
	defer c.loading.Unlock()
	before := c.loaded.Swap(loaded)
	for ref, digest := range loaded.tags {
		if was, ok := before.tags[ref]; !ok || was == digest {
			continue
		}
		if said, ok := c.tags.Peek(ref); ok && c.now()-said.lookupTime >= c.options.TTL {
			c.tags.Add(ref, c.seed(digest))
		}
	}
}

func (c *Cache) forget(ref string) {
	c.tags.Remove(ref)
	c.loading.Lock()
	defer c.loading.Unlock()
	loaded := *c.loaded.Load()
	loaded.tags = maps.Clone(loaded.tags)
	delete(loaded.tags, ref)
	c.loaded.Store(&loaded)
}

// Images returns the images that were looked up, for a Load in another process: one for each cached tag, and one for each cached image
// without a tag. They are sorted by reference.
func (c *Cache) Images() []Image {
	var images []Image
	named := map[pinned]bool{}
	for _, ref := range c.tags.Keys() {
		said, ok := c.tags.Peek(ref)
		if !ok {
			continue
		}
		repository, _, _ := reference.Split(ref)
		key := pinned{repository, said.digest}
		if found, ok := c.find(key); ok {
			found.Reference = ref
			named[key] = true
			images = append(images, found)
		}
	}
	for _, key := range c.images.Keys() {
		if found, ok := c.images.Peek(key); ok && !named[key] {
			found.Reference = key.repository
			found.Reference = found.Pinned()
			images = append(images, found)
		}
	}
	slices.SortFunc(images, func(a, b Image) int { return strings.Compare(a.Reference, b.Reference) })
	return images
}

// find returns a cached or loaded image without marking it as used.
func (c *Cache) find(key pinned) (Image, bool) {
	if found, ok := c.images.Peek(key); ok {
		return found, true
	}
	found, ok := c.loaded.Load().images[key]
	return found, ok
}
