// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/tools/images/internal/checkout"
	"github.com/krmfn/krmfn/tools/images/internal/ocilayout"
	"github.com/krmfn/krmfn/tools/images/internal/release"
)

// opened is an image to push.
type opened struct {
	ocilayout.Content

	tag name.Tag
}

// openImage reads an image of the release. dir is for its content.
func (o Options) openImage(image, dir string) (opened, error) {
	version := o.Versions.Images[image]
	tag, err := o.reference(image, version)
	if err != nil {
		return opened{}, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return opened{}, err
	}
	file := filepath.Join(o.Dir, release.ImageFile(image, version))
	content, err := ocilayout.Read(file, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return opened{}, fmt.Errorf("image %s is part of release %s: %w", image, o.Release.Tag, err)
	}
	if err != nil {
		return opened{}, err
	}
	if content.Tag != version {
		return opened{}, fmt.Errorf("%s has version %s, want %s: make the release anew", file, content.Tag, version)
	}
	if err := o.checkCommit(content); err != nil {
		return opened{}, fmt.Errorf("%s: %w", file, err)
	}
	return opened{Content: content, tag: tag}, nil
}

// checkCommit refuses images that come from no commit.
func (o Options) checkCommit(content ocilayout.Content) error {
	manifest, err := content.Index.IndexManifest()
	if err != nil {
		return err
	}
	for _, desc := range manifest.Manifests {
		img, err := content.Index.Image(desc.Digest)
		if err != nil {
			return err
		}
		config, err := img.ConfigFile()
		if err != nil {
			return err
		}
		revision := config.Config.Labels["org.opencontainers.image.revision"]
		if strings.HasSuffix(revision, checkout.Dirty) && !o.AllowDirty {
			return fmt.Errorf("made of changes that are in no commit (%s): make the release of a clean checkout", revision)
		}
	}
	return nil
}

// pushImage pushes an image, and what refers to it, and returns its reference with its digest.
func (o Options) pushImage(ctx context.Context, i opened) (string, error) {
	if err := remote.WriteIndex(i.tag, i.Index, remoteOptions(ctx)...); err != nil {
		return "", fmt.Errorf("push %s: %w", i.tag, err)
	}
	for _, referrer := range i.Referrers {
		digest, err := referrer.Digest()
		if err != nil {
			return "", err
		}
		if err := remote.Write(i.tag.Digest(digest.String()), referrer, remoteOptions(ctx)...); err != nil {
			return "", fmt.Errorf("push %s, which refers to %s: %w", digest, i.tag, err)
		}
	}
	pushed := i.tag.Digest(i.Digest.String()).String()
	fmt.Fprintf(o.Log, "%s: %s, with %d bills of materials\n", i.tag, i.Digest, len(i.Referrers))
	return pushed, nil
}
