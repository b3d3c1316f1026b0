// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package knownimages loads image metadata from files, so that function runners need not ask registries: from the image warmer's file,
// and from a file that this function runner has written before a restart.
package knownimages

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"time"

	"github.com/krmfn/krmfn/internal/images/metadata"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/server/configfile"
	"github.com/krmfn/krmfn/internal/server/logging"
)

// Cache holds image metadata; see registry.Cache.
type Cache interface {
	Load(images []registry.Image)
	Images() []registry.Image
}

// file is an optional metadata file in the format of package metadata. A missing or invalid file is not fatal, because registries can be
// asked instead.
type file struct {
	name   string
	log    *slog.Logger
	logged logging.Once
}

// read returns the images in the file, and its content. Both are nil if the file does not exist. It logs an unreadable or invalid file
// once.
func (f *file) read() ([]registry.Image, []byte, error) {
	content, err := configfile.Read(f.name, metadata.MaxSize)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	var images []registry.Image
	if err == nil {
		images, err = metadata.Parse(content)
	}
	if f.logged.New(err) {
		f.log.Warn("the file of known images cannot be used", "file", f.name, "err", err)
	}
	if err != nil {
		return nil, nil, err
	}
	return images, content, nil
}

// Warmed loads the image warmer's file into a cache. Its methods are not safe for concurrent use.
type Warmed struct {
	file    file
	cache   Cache
	before  []registry.Image
	content []byte
}

// NewWarmed returns a Warmed for a file. Load also loads the images in before, which the file overrides.
func NewWarmed(name string, cache Cache, log *slog.Logger, before ...registry.Image) *Warmed {
	return &Warmed{file: file{name: name, log: log}, cache: cache, before: before}
}

// Load loads the file if it has changed, and reports whether it did. If the file is missing or invalid, the previous images stay in the
// cache. An invalid file is an error.
func (w *Warmed) Load() (changed bool, err error) {
	images, content, err := w.file.read()
	if content == nil || bytes.Equal(content, w.content) {
		return false, err
	}
	w.content = content
	w.cache.Load(slices.Concat(w.before, images))
	w.file.log.Info("image metadata loaded", "file", w.file.name, "images", len(images))
	return true, nil
}

// Kept saves image metadata in a file for the next start. Its methods are not safe for concurrent use.
type Kept struct {
	file    file
	cache   Cache
	written []byte
}

// interval is the interval at which Kept writes the file. A crash loses the metadata since the last write.
const interval = time.Minute

// NewKept returns a Kept for a file.
func NewKept(name string, cache Cache, log *slog.Logger) *Kept {
	return &Kept{file: file{name: name, log: log}, cache: cache}
}

// Load loads the images in the file into the cache, and returns them.
func (k *Kept) Load() []registry.Image {
	images, content, _ := k.file.read() // read logs errors
	k.written = content
	k.cache.Load(images)
	return images
}

// Run writes the file at intervals until ctx ends, and once at the end.
func (k *Kept) Run(ctx context.Context) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		if err := k.write(); k.file.logged.New(err) {
			k.file.log.Warn("the images that are known cannot be kept over a restart", "file", k.file.name, "err", err)
		}
	}
}

// write atomically replaces the file if the metadata has changed. Images that the cache has evicted are no longer saved.
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
