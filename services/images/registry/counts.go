// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

type result int

const (
	// hit was known, stale was known for longer than the TTL, and miss was asked for.
	hit result = iota
	stale
	miss
	// gone and denied are what the registry said of the image, unusable is what the image is, and canceled was given up by its
	// caller. All other errors are failed: the registry could not be asked.
	gone
	denied
	unusable
	canceled
	failed
	results
)

var resultNames = [results]string{
	hit: "hit", stale: "stale", miss: "miss", gone: "not_found", denied: "denied", unusable: "unusable", canceled: "canceled", failed: "error",
}

// counts counts lookups. Warm calls look up, so that it takes no more than an addition.
type counts [results]atomic.Int64

func (c *counts) add(r result, err error) {
	if err != nil {
		r = resultOf(err)
	}
	c[r].Add(1)
}

func resultOf(err error) result {
	switch {
	case errors.As(err, new(*NotFoundError)):
		return gone
	case errors.As(err, new(*UnauthorizedError)):
		return denied
	case errors.As(err, new(*UnusableError)):
		return unusable
	case errors.Is(err, context.Canceled):
		return canceled
	}
	return failed
}

// Observe registers what is measured when somebody looks:
//
//   - krm_image_lookups (kind, result): lookups of tags and images (kind: tag, image) that were known (hit), known for longer than
//     the TTL (stale), or asked for (miss); that ended with the registry's refusal (not_found, denied) or with an image that cannot
//     be run (unusable); that their caller canceled (canceled); and for which the registry could not be asked (error)
//   - krm_image_cache_entries (kind): tags and images that are kept
func (c *Cache) Observe(meter metric.Meter) error {
	lookups, err := meter.Int64ObservableCounter("krm_image_lookups", metric.WithDescription("Lookups of image tags and of images, by how they went."))
	if err != nil {
		return err
	}
	entries, err := meter.Int64ObservableGauge("krm_image_cache_entries", metric.WithDescription("Image tags and images that are kept."))
	if err != nil {
		return err
	}
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for kind, of := range map[string]*counts{"tag": &c.tagLookups, "image": &c.imageLookups} {
			for r, name := range resultNames {
				o.ObserveInt64(lookups, of[r].Load(), metric.WithAttributes(attribute.String("kind", kind), attribute.String("result", name)))
			}
		}
		o.ObserveInt64(entries, int64(c.tags.Len()), metric.WithAttributes(attribute.String("kind", "tag")))
		o.ObserveInt64(entries, int64(c.images.Len()), metric.WithAttributes(attribute.String("kind", "image")))
		return nil
	}, lookups, entries)
	return err
}
