// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package knownimages

import (
	"bytes"
	"context"
	"log/slog"
	"slices"

	"github.com/krmfn/krmfn/services/images/registry"
	"github.com/krmfn/krmfn/services/server/configfile"
)

// Warmed makes known what is in the image warmer's file. Its methods are called one after another.
type Warmed struct {
	file    file
	cache   Cache
	before  []registry.Image
	content []byte
}

// NewWarmed returns a Warmed that has read nothing yet. The images before are known, too, unless the file says otherwise.
func NewWarmed(name string, cache Cache, log *slog.Logger, before ...registry.Image) *Warmed {
	return &Warmed{file: file{name: name, log: log}, cache: cache, before: before}
}

// Load makes known what the file says, if that has changed. While it is not there, or is not understood, what it last said
// stays known.
func (w *Warmed) Load() {
	images, content := w.file.read()
	if content == nil || bytes.Equal(content, w.content) {
		return
	}
	w.content = content
	w.cache.Load(slices.Concat(w.before, images))
	w.file.log.Info("image metadata loaded", "file", w.file.name, "images", len(images))
}

// Run follows the file until ctx ends.
func (w *Warmed) Run(ctx context.Context) {
	if err := configfile.Watch(ctx, w.file.name, w.file.log, w.Load); err != nil {
		w.file.log.Warn("changes of the image metadata take effect at the next start only", "file", w.file.name, "err", err)
	}
}
