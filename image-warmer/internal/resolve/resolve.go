// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package resolve asks registries for many images at once.
package resolve

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/krmfn/krmfn/services/images/registry"
)

// Options are how images are asked for.
type Options struct {
	// Parallel is how many are asked for at once, at least 1.
	Parallel int
	// Timeout is the most time for one image.
	Timeout time.Duration
	// Log gets a line for each image.
	Log *slog.Logger
}

// Result is what a registry says of one image, or why it does not.
type Result struct {
	Reference string
	// Image is zero where Err is not nil.
	Image registry.Image
	Err   error
	// Took is how long it took.
	Took time.Duration
}

// Pause waits for a part of jitter, by chance, or until the context ends, so that not all who start at the same time ask at the
// same time.
func Pause(ctx context.Context, jitter time.Duration) {
	if jitter <= 0 {
		return
	}
	timer := time.NewTimer(rand.N(jitter)) //nolint:gosec // nobody gains by knowing when registries are asked
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// All asks for images and returns one result for each, in their order. One that fails leaves the others alone; when the
// context ends, those that are left fail by its cause.
func All(ctx context.Context, source registry.Source, references []string, o Options) []Result {
	results := make([]Result, len(references))
	var group errgroup.Group
	group.SetLimit(o.Parallel)
	for i, ref := range references {
		group.Go(func() error {
			results[i] = one(ctx, source, ref, o)
			return nil
		})
	}
	_ = group.Wait()
	return results
}

func one(ctx context.Context, source registry.Source, ref string, o Options) Result {
	start := time.Now()
	limited, cancel := context.WithTimeoutCause(ctx, o.Timeout,
		fmt.Errorf("no answer within %s: check the way to the registry (network, proxy), or raise --resolve-timeout", o.Timeout))
	defer cancel()
	image, err := ask(limited, source, ref)
	result := Result{Reference: ref, Image: image, Err: err, Took: time.Since(start)}
	if err != nil {
		o.Log.WarnContext(ctx, "image cannot be resolved", "image", ref, "err", err)
	} else {
		o.Log.InfoContext(ctx, "image resolved", "image", ref, "digest", image.Digest, "took", result.Took)
	}
	return result
}

func ask(ctx context.Context, source registry.Source, ref string) (registry.Image, error) {
	if ctx.Err() != nil {
		return registry.Image{}, context.Cause(ctx)
	}
	digest, err := source.Digest(ctx, ref)
	if err != nil {
		return registry.Image{}, err
	}
	return source.Image(ctx, ref, digest)
}
