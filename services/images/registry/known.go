// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"strings"
	"sync"

	"github.com/krmfn/krmfn/services/images/reference"
)

// known are the images that were learnt elsewhere. They are kept beside what the registries have said, where references that
// somebody makes up would push them out.
type known struct {
	mu     sync.Mutex
	tags   map[string]string
	images map[pinned]Image
}

// set replaces what is known, and returns the tags that name something else than before.
func (k *known) set(images []Image) map[string]string {
	tags, byDigest, moved := make(map[string]string, len(images)), make(map[pinned]Image, len(images)), map[string]string{}
	for _, i := range images {
		repository, _, digest := reference.Split(i.Reference)
		byDigest[pinned{repository, i.Digest}] = i
		if digest == "" {
			tags[i.Reference] = i.Digest
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for ref, digest := range tags {
		if before, ok := k.tags[ref]; ok && before != digest {
			moved[ref] = digest
		}
	}
	k.tags, k.images = tags, byDigest
	return moved
}

func (k *known) digest(ref string) (string, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	digest, ok := k.tags[ref]
	return digest, ok
}

func (k *known) image(key pinned) (Image, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	found, ok := k.images[key]
	return found, ok
}

// forget drops a tag that is gone.
func (k *known) forget(ref string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.tags, ref)
}

// Load makes images known that were learnt elsewhere, from a file for instance, in place of those of the last Load. They cost
// no request and are not pushed out by others. A tag among them is asked for again as soon as it is used, in the background;
// what the registry has said of it within the TTL counts more. Load keeps the images: do not change them.
func (c *Cache) Load(images []Image) {
	for ref, digest := range c.loaded.set(images) {
		if said, ok := c.tags.Peek(ref); ok && c.now()-said.asked >= c.options.TTL {
			c.tags.Add(ref, c.seed(digest))
		}
	}
}

// Images returns what is known of images by what the registries have said, for a Load in another process: of tags, and of those
// images by digest that no tag names. They are sorted by reference.
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

// find returns an image that is known, without counting it as used.
func (c *Cache) find(key pinned) (Image, bool) {
	if found, ok := c.images.Peek(key); ok {
		return found, true
	}
	return c.loaded.image(key)
}
