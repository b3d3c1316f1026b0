// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"golang.org/x/sys/unix"
)

// record is the content of an image's file image.json.
type record struct {
	Image
	// Bytes is the size of the image's files.
	Bytes int64
}

// use returns the image with an ID. If it is missing, fill creates its directory.
func (c *Cache) use(ctx context.Context, id string, fill func(dir string) error) (Image, error) {
	hash, err := v1.NewHash(id)
	if err != nil {
		return Image{}, err
	}
	dir := filepath.Join(c.dir, imagesDir, hash.Hex)
	l, err := openLock(dir + lockSuffix)
	if err != nil {
		return Image{}, err
	}
	r, err := c.shared(ctx, l, dir, fill)
	if err != nil {
		l.close()
		return Image{}, err
	}
	now := time.Now()
	_ = os.Chtimes(dir+lockSuffix, now, now)
	c.keepLock(id, l)
	return r.Image, nil
}

// shared returns the image in a directory, with a shared lock. flock releases a lock before it converts it. In between, another process
// may remove the image, or unpack it and share its lock for a long time. Therefore, shared never blocks for the exclusive lock.
func (c *Cache) shared(ctx context.Context, l lock, dir string, fill func(dir string) error) (record, error) {
	for {
		if err := l.take(ctx, unix.LOCK_SH); err != nil {
			return record{}, err
		}
		if r, err := readRecord(dir); !errors.Is(err, fs.ErrNotExist) {
			return r, err
		}
		switch err := l.try(unix.LOCK_EX); {
		case errors.Is(err, errLocked):
			if err := l.yield(ctx); err != nil {
				return record{}, err
			}
			continue
		case err != nil:
			return record{}, err
		}
		if _, err := os.Stat(dir); err == nil {
			continue
		}
		if err := c.fill(dir, fill); err != nil {
			return record{}, err
		}
		if _, err := c.prune(c.MaxTotal, func(record) bool { return true }); err != nil {
			return record{}, err
		}
	}
}

func (c *Cache) fill(dir string, fill func(dir string) error) error {
	fresh, err := os.MkdirTemp(filepath.Join(c.dir, newDir), "image-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	if err := fill(fresh); err != nil {
		return err
	}
	return os.Rename(fresh, dir)
}

// keepLock keeps the lock of an image until the cache is closed.
func (c *Cache) keepLock(id string, l lock) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, held := c.locks[id]; held {
		l.close()
		return
	}
	c.locks[id] = l
}

func readRecord(dir string) (r record, err error) {
	text, err := os.ReadFile(filepath.Join(dir, imageFile))
	if err != nil {
		return r, err
	}
	err = json.Unmarshal(text, &r)
	r.Root = filepath.Join(dir, rootDir)
	return r, err
}
