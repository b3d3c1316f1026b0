// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/command/runner"
)

// littleRoom is the free space in bytes below which doctor warns that images may not fit.
const littleRoom = 1 << 30

// cache checks the directory of unpacked images, which it does not make.
type cache struct{ dir string }

func newCache(p *program.Program) cache { return cache{runner.CacheDir(p)} }

func (c cache) look(ctx context.Context) finding {
	f := finding{Check: "cache", Status: works}
	if c.dir == "" {
		f.noSandbox = true
		f.Status, f.Found, f.Remedy = warning, "there is no directory for unpacked images", "set $KRMFN_CACHE_DIR or $HOME"
		return f
	}
	nearest, err := existing(c.dir)
	if err == nil {
		err = writable(nearest)
	}
	if err != nil {
		f.noSandbox = true
		f.Status, f.Found, f.Remedy = warning, err.Error(), "make the directory writable, or set $KRMFN_CACHE_DIR to another"
		return f
	}
	f.Found = c.dir + " will be made"
	if nearest == c.dir {
		f.Found = fmt.Sprintf("%s has %s", c.dir, size(dirSize(ctx, c.dir)))
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(nearest, &disk); err != nil {
		return f
	}
	free := int64(disk.Bavail) * int64(disk.Bsize) //nolint:gosec,unconvert // the types differ between systems
	f.Found += fmt.Sprintf(", %s are free", size(free))
	if free < littleRoom {
		f.Status, f.Remedy = warning, "make room, for example with krmfn cache prune"
	}
	return f
}

// existing returns the directory, or the nearest above it that is there.
func existing(dir string) (string, error) {
	for {
		_, err := os.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return dir, err
		}
		dir = filepath.Dir(dir)
	}
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".krmfn-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// dirSize returns the bytes of the files below a directory, as far as they can be read before the context ends.
func dirSize(ctx context.Context, dir string) (total int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return ctx.Err()
		}
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

func size(bytes int64) string {
	if bytes >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
