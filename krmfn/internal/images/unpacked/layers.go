// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package unpacked

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// unpack writes an image's files into a directory and returns their size. Each layer must have the digest in the config.
func (c *Cache) unpack(ctx context.Context, image v1.Image, file *v1.ConfigFile, dir string) (int64, error) {
	layers, err := image.Layers()
	if err != nil {
		return 0, err
	}
	if len(layers) != len(file.RootFS.DiffIDs) {
		return 0, fmt.Errorf("it has %d layers, but its config has %d", len(layers), len(file.RootFS.DiffIDs))
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return 0, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	t := newTree(root, c.MaxImage, c.MaxFiles)
	for i, l := range layers {
		if err := t.applyLayer(ctx, l, file.RootFS.DiffIDs[i]); err != nil {
			return 0, fmt.Errorf("layer %d: %w", i+1, err)
		}
	}
	return c.MaxImage - t.bytes, t.finish(strings.TrimSpace(file.Config.WorkingDir))
}

func (t *tree) applyLayer(ctx context.Context, l v1.Layer, want v1.Hash) error {
	content, err := l.Uncompressed()
	if err != nil {
		return err
	}
	defer content.Close()
	sum := sha256.New()
	r := &limited{ctx, t, io.TeeReader(bufio.NewReaderSize(content, 1<<20), sum)}
	if err := t.apply(r); err != nil {
		return err
	}
	// The digest includes what follows the end of the tar.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want.Hex {
		return fmt.Errorf("its content is sha256:%s, but the config says %s", got, want)
	}
	return nil
}
