// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package mirror copies images, with all their platforms, into an OCI layout or to another registry, for machines that cannot
// reach the registries of the images.
package mirror

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// Target is where images are copied to.
type Target interface {
	// Name returns what the copy of an image is named. The error says that it can have no name there.
	Name(ref string) (string, error)
	// digest returns the digest of the copy that is there; "" for none.
	digest(ctx context.Context, ref string) (string, error)
	// write writes an image, or index, and all that it names.
	write(ctx context.Context, ref string, from *remote.Descriptor) error
}

// layoutScheme is how a target begins that is an OCI layout.
const layoutScheme = "oci:"

// Open returns the target that text names: oci:DIR, which is made if it is missing, or REGISTRY/PREFIX. Nothing is written or asked
// yet.
func Open(text string, client *registry.Client) (Target, error) {
	if dir, ok := strings.CutPrefix(text, layoutScheme); ok {
		return openLayout(dir)
	}
	return openRegistry(text, client)
}

const (
	// maxBlob is the most bytes of one layer.
	maxBlob = 16 << 30
	// attempts is the maximum number of attempts to copy an image. An attempt skips blobs that an earlier attempt copied.
	attempts = 3
	// pause is the time before the second attempt; it doubles with each.
	pause = time.Second
)

// errNotWritten ends a pull. It must not be mistaken for an answer of the registry that is pulled from.
var errNotWritten = errors.New("the copy could not be written")

// Has reports whether the target has the image with the digest. It returns false if the target cannot be queried.
func Has(ctx context.Context, ref, digest string, target Target) bool {
	there, err := target.digest(ctx, ref)
	return err == nil && there == digest
}

// Copy copies the image that has a digest. Attempts that may fail by chance are repeated. Images are copied one after the other:
// Copy may not be called by several goroutines at once for one target.
func Copy(ctx context.Context, client *registry.Client, ref, digest string, to Target) error {
	wait := pause
	for attempt := 1; ; attempt++ {
		err := copyOnce(ctx, client, ref, digest, to)
		if err == nil || attempt == attempts || isFinal(ctx, err) {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		wait *= 2
	}
}

func copyOnce(ctx context.Context, client *registry.Client, ref, digest string, to Target) error {
	var failed error
	err := client.Pull(ctx, ref, digest, maxBlob, func(ctx context.Context, from *remote.Descriptor) error {
		if failed = to.write(ctx, ref, from); failed != nil {
			return errNotWritten
		}
		return nil
	})
	if failed != nil {
		return fmt.Errorf("copy %s: %w", ref, failed)
	}
	return err
}

// isFinal reports whether another attempt would also fail.
func isFinal(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.As(err, new(*registry.NotFoundError)) || errors.As(err, new(*registry.UnauthorizedError)) ||
		errors.As(err, new(*registry.ThrottledError)) || errors.As(err, new(*kindError))
}

// kindError says that something is no image.
type kindError struct{ mediaType string }

func (e *kindError) Error() string {
	return fmt.Sprintf("it is a %s, neither an image nor an index of images", e.mediaType)
}
