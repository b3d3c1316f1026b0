// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package handler

import (
	"time"

	"github.com/krmfn/krmfn/services/imagetags"
	"github.com/krmfn/krmfn/services/registry"
	"github.com/krmfn/krmfn/services/render"
)

// maxListTime is how long a registry may take to list the tags of an image.
const maxListTime = 10 * time.Second

// tags returns what lists the tags of images, with the credentials of Docker's configuration. The functions in the process
// stand in for a registry that cannot be asked.
func (h *Handler) tags() render.TagLister {
	h.registries = registry.NewClient(registry.Options{Timeout: maxListTime})
	cache := imagetags.NewCache(h.registries, imagetags.CacheOptions{Log: h.config.Log})
	if o := h.config.Options; o.Builtin {
		return imagetags.WithBuiltin(cache, o.DefaultImagePrefix)
	}
	return cache
}
