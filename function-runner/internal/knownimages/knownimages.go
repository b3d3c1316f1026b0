// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package knownimages lets function runners know images without asking registries: from the file that the image warmer has
// made, and from what this function runner has learnt before it was started again.
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

	"github.com/krmfn/krmfn/services/images/metadata"
	"github.com/krmfn/krmfn/services/images/registry"
	"github.com/krmfn/krmfn/services/server/configfile"
	"github.com/krmfn/krmfn/services/server/logging"
)

// Cache has the images; see registry.Cache.
type Cache interface {
	Load(images []registry.Image)
	Images() []registry.Image
}

// file has the format of package imagemetadata, and may be there or not. Functions that it would name can still be asked for, so
// that problem with it is logged and no more.
type file struct {
	name   string
	log    *slog.Logger
	logged logging.Once
}

// read returns the file's images, and its content; nil where there is no such file. The error, that it is not understood, is logged once.
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
// stays known. It tells whether anything has changed, or that the file is not understood.
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

// Kept keeps in a file what registries have said, for the next start. Its methods are called one after another.
type Kept struct {
	file    file
	cache   Cache
	written []byte
}

// interval is how often Kept writes the file. A restart forgets what was learnt since.
const interval = time.Minute

// NewKept returns a Kept that has read and written nothing yet.
func NewKept(name string, cache Cache, log *slog.Logger) *Kept {
	return &Kept{file: file{name: name, log: log}, cache: cache}
}

// Load makes known what is in the file, and returns it.
func (k *Kept) Load() []registry.Image {
	images, content, _ := k.file.read() // which logs
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
		if err := k.write(); k.file.logged.New(err) {
			k.file.log.Warn("the images that are known cannot be kept over a restart", "file", k.file.name, "err", err)
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
