// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

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

// imageCache holds image metadata; see registry.Cache.
type imageCache interface {
	Load(images []registry.Image)
	Images() []registry.Image
}

// imageFile is an optional metadata file in the format of package metadata. A missing or invalid file is not fatal, because
// registries can be asked instead.
type imageFile struct {
	name   string
	log    *slog.Logger
	logged logging.Once
}

// read returns the images in the file, and its content. Both are nil if the file does not exist. It logs an unreadable or invalid file
// once.
func (f *imageFile) read() ([]registry.Image, []byte, error) {
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

// warmedImages loads the image warmer's file into a cache. Its methods are not safe for concurrent use.
type warmedImages struct {
	file    imageFile
	cache   imageCache
	before  []registry.Image
	content []byte
}

// newWarmedImages returns a warmedImages for a file. Load also loads the images in before, which the file overrides.
func newWarmedImages(name string, cache imageCache, log *slog.Logger, before ...registry.Image) *warmedImages {
	return &warmedImages{file: imageFile{name: name, log: log}, cache: cache, before: before}
}

// Load loads the file if it has changed, and reports whether it did. If the file is missing or invalid, the previous images stay in the
// cache. An invalid file is an error.
func (w *warmedImages) Load() (changed bool, err error) {
	images, content, err := w.file.read()
	if content == nil || bytes.Equal(content, w.content) {
		return false, err
	}
	w.content = content
	w.cache.Load(slices.Concat(w.before, images))
	w.file.log.Info("image metadata loaded", "file", w.file.name, "images", len(images))
	return true, nil
}

// keptImages saves image metadata in a file for the next start. Its methods are not safe for concurrent use.
type keptImages struct {
	file    imageFile
	cache   imageCache
	written []byte
}

// keepInterval is the interval at which keptImages writes the file. A crash loses the metadata since the last write.
const keepInterval = time.Minute

// newKeptImages returns a keptImages for a file.
func newKeptImages(name string, cache imageCache, log *slog.Logger) *keptImages {
	return &keptImages{file: imageFile{name: name, log: log}, cache: cache}
}

// Load loads the images in the file into the cache, and returns them.
func (k *keptImages) Load() []registry.Image {
	images, content, _ := k.file.read() // read logs errors
	k.written = content
	k.cache.Load(images)
	return images
}

// Run writes the file at intervals until ctx ends, and once at the end.
func (k *keptImages) Run(ctx context.Context) {
	ticker := time.NewTicker(keepInterval)
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
func (k *keptImages) write() error {
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
