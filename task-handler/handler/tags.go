// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"time"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/services/images/registry"
	"github.com/krmfn/krmfn/services/images/tags"
	"github.com/krmfn/krmfn/services/render"
)

// maxListTime is how long a registry may take to list the tags of an image.
const maxListTime = 10 * time.Second

// tags returns what lists the tags of images, with the credentials of Docker's configuration. The functions in the process
// stand in for a registry that cannot be asked.
func (h *Handler) tags() render.TagLister {
	h.registries = registry.NewClient(registry.Options{Timeout: maxListTime})
	cache := tags.NewCache(h.registries, tags.CacheOptions{Log: h.config.Log})
	if o := h.config.Options; o.Builtin {
		return tags.WithBuiltin(cache, functions.All().Tags, o.DefaultImagePrefix)
	}
	return cache
}
