// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package knownimages

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/krmfn/krmfn/services/images/metadata"
	"github.com/krmfn/krmfn/services/images/registry"
)

// Kept keeps in a file what registries have said, for the next start. Its methods are called one after another.
type Kept struct {
	file    file
	cache   Cache
	written []byte
}

// interval is how often what is known is written. What a function runner learns in less, it learns anew.
const interval = time.Minute

// NewKept returns a Kept that has read and written nothing yet.
func NewKept(name string, cache Cache, log *slog.Logger) *Kept {
	return &Kept{file: file{name: name, log: log}, cache: cache}
}

// Load makes known what is in the file, and returns it.
func (k *Kept) Load() []registry.Image {
	images, content := k.file.read()
	k.written = content
	k.cache.Load(images)
	return images
}

// Run writes the file now and then until ctx ends, and once more then.
func (k *Kept) Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		if err := k.write(); err != nil {
			k.file.failed("the images that are known cannot be kept over a restart", err)
		}
	}
}

// write writes what is known, if that has changed: as a whole or not at all. What is not known any more, as it has made place for
// others, is no loss.
func (k *Kept) write() error {
	images := k.cache.Images()
	content, err := metadata.Format(images)
	if err != nil || len(images) == 0 || bytes.Equal(content, k.written) {
		return err
	}
	next := k.file.name + ".next"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	if err := os.Rename(next, k.file.name); err != nil {
		return err
	}
	k.written = content
	return nil
}
