// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package unpacked stores images as directories, so that their programs can run without a container engine. Each image is pulled and
// unpacked once into a cache that processes share. Its key is the digest of its config, which identifies all of its content.
package unpacked

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/services/images/reference"
)

// Descriptor is a manifest or index in a registry.
type Descriptor = remote.Descriptor

// Policy controls when the registry is queried for an image with a tag.
type Policy string

const (
	// Always means that the registry is queried for the tag's current digest. The image is pulled unless it is cached.
	Always Policy = "Always"
	// IfNotPresent means that the image to which the tag last resolved is used.
	IfNotPresent Policy = "IfNotPresent"
	// Never means that only cached images are used.
	Never Policy = "Never"
)

// Options configure a Cache. Zero values mean the defaults.
type Options struct {
	// Registry provides images that are not on this machine.
	Registry Registry
	// Policy controls when the registry is queried. The default is IfNotPresent.
	Policy Policy
	// MaxImage is the maximum size of an image's files in bytes. The default is 4 GiB.
	MaxImage int64
	// MaxFiles is the maximum number of files and directories of an image. The default is 400,000.
	MaxFiles int
	// MaxTotal is the size, in bytes, above which a new image evicts unused ones, the least recently used first. The default is 20 GiB.
	MaxTotal int64
	// Pulling, unless nil, is called before an image is pulled, and with goesOn false afterwards. It must be safe for concurrent use.
	Pulling func(ref string, goesOn bool)
}

// Cache contains unpacked images. It is safe for concurrent use by goroutines and processes.
type Cache struct {
	Options
	dir string

	mu sync.Mutex
	// refs are the images in use, by reference.
	refs map[string]*entry
	// locks are the locks of all images that this process uses, by ID.
	locks map[string]lock
}

// entry is an image in use.
type entry struct {
	// mu guards image, and is held while the image is looked up.
	mu    sync.Mutex
	image Image
}

const (
	imagesDir = "images"
	refsDir   = "refs"
	newDir    = "new"
	// rootDir and imageFile are in an image's directory.
	rootDir   = "root"
	imageFile = "image.json"
)

// Open opens a cache, or creates it. Only its owner has access to it. The caller must call Close.
func Open(dir string, o Options) (*Cache, error) {
	o.Policy = cmp.Or(o.Policy, IfNotPresent)
	o.MaxImage, o.MaxFiles, o.MaxTotal = cmp.Or(o.MaxImage, 4<<30), cmp.Or(o.MaxFiles, 400_000), cmp.Or(o.MaxTotal, 20<<30)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range []string{"", imagesDir, refsDir, newDir} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, fmt.Errorf("make the cache of images: %w", err)
		}
	}
	return &Cache{Options: o, dir: dir, refs: map[string]*entry{}, locks: map[string]lock{}}, nil
}

// Close releases the images in use. No program may run in them.
func (c *Cache) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, l := range c.locks {
		l.close()
	}
	clear(c.locks)
	clear(c.refs)
}

// Image returns the image of a reference, which other processes do not remove until the cache is closed. It pulls and unpacks the image
// if necessary. Errors are the errors of the registry, *LimitError, the context's cause, and others about the image.
func (c *Cache) Image(ctx context.Context, ref string) (Image, error) {
	c.mu.Lock()
	e := c.refs[ref]
	if e == nil {
		e = &entry{}
		c.refs[ref] = e
	}
	c.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.image.ID != "" {
		return e.image, nil
	}
	find := c.find
	if reference.IsLocal(ref) {
		find = c.findLocal
	}
	image, err := find(ctx, ref)
	if err != nil {
		return Image{}, fmt.Errorf("image %s: %w", ref, err)
	}
	e.image = image
	return image, nil
}

func (c *Cache) findLocal(ctx context.Context, ref string) (Image, error) {
	image, err := openLocal(ref, runtime.GOARCH)
	if err != nil {
		return Image{}, err
	}
	return c.keep(ctx, image)
}

// find returns an image of a registry.
func (c *Cache) find(ctx context.Context, ref string) (Image, error) {
	if c.Policy != Always {
		if image, err := c.known(ctx, ref); err == nil {
			return image, nil
		}
	}
	if c.Policy == Never || c.Registry == nil {
		return Image{}, errors.New("it is not in the cache and may not be pulled: use another image pull policy")
	}
	digest, err := c.Registry.Digest(ctx, ref)
	if err != nil {
		return Image{}, err
	}
	image, err := c.known(ctx, digest)
	if err == nil {
		return image, c.remember(ref, image.ID)
	}
	if c.Pulling != nil {
		c.Pulling(ref, true)
		defer c.Pulling(ref, false)
	}
	err = c.Registry.Pull(ctx, ref, digest, c.MaxImage, func(ctx context.Context, d *Descriptor) error {
		found, err := fromRegistry(d)
		if err != nil {
			return err
		}
		image, err = c.keep(ctx, found)
		return err
	})
	if err != nil {
		return Image{}, err
	}
	return image, errors.Join(c.remember(digest, image.ID), c.remember(ref, image.ID))
}

func fromRegistry(d *Descriptor) (v1.Image, error) {
	if !d.MediaType.IsIndex() {
		return d.Image()
	}
	index, err := d.ImageIndex()
	if err != nil {
		return nil, err
	}
	return choose(index, "", runtime.GOARCH, 1)
}

// refFile returns the name of the file that contains the image ID of a reference or digest.
func (c *Cache) refFile(ref string) string {
	sum := sha256.Sum256([]byte(ref))
	return filepath.Join(c.dir, refsDir, hex.EncodeToString(sum[:]))
}

func (c *Cache) remember(ref, id string) error {
	return c.write(c.refFile(ref), []byte(id))
}

// write creates a file atomically, so that no process reads a part of it.
func (c *Cache) write(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Join(c.dir, newDir), "file-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(content)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// known returns the image to which a reference or digest last resolved.
func (c *Cache) known(ctx context.Context, ref string) (Image, error) {
	id, err := os.ReadFile(c.refFile(ref))
	if err != nil {
		return Image{}, err
	}
	return c.use(ctx, string(id), func(string) error { return fs.ErrNotExist })
}

// keep returns an image of the cache. It unpacks the image if it is missing.
func (c *Cache) keep(ctx context.Context, from v1.Image) (Image, error) {
	manifest, err := from.Manifest()
	if err != nil {
		return Image{}, err
	}
	if manifest.Config.Size > maxConfig {
		return Image{}, &LimitError{"has a config larger than 8 MiB"}
	}
	file, image, err := config(from, runtime.GOARCH)
	if err != nil {
		return Image{}, err
	}
	return c.use(ctx, image.ID, func(dir string) error {
		size, err := c.unpack(ctx, from, file, filepath.Join(dir, rootDir))
		if err != nil {
			return err
		}
		text, err := json.Marshal(record{Image: image, Bytes: size})
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, imageFile), text, 0o600)
	})
}

// maxConfig is the maximum size of an image's config in bytes.
const maxConfig = 8 << 20
