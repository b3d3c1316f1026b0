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
	// hit means cached within the TTL, stale means cached for longer, and miss means looked up.
	hit result = iota
	stale
	miss
	// gone and denied are responses of the registry. unusable means that the image cannot run. canceled means that the caller canceled
	// the lookup. failed is any other error: the registry is unavailable.
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

// counts counts lookups by result. It is used on the path of every call, so add must be cheap.
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

// Observe registers these metrics:
//
// - krm_image_lookups (kind, result): lookups of tags and images (kind: tag, image) that were cached within the TTL (hit) or for longer
// (stale), or sent to the registry (miss); that the registry rejected (not_found, denied); whose image cannot run (unusable); that the
// caller canceled (canceled); and that failed because the registry was unavailable (error)
// - krm_image_cache_entries (kind): cached tags and images
func (c *Cache) Observe(meter metric.Meter) error {
	lookups, err := meter.Int64ObservableCounter("krm_image_lookups", metric.WithDescription("Lookups of image tags and images, by result."))
	if err != nil {
		return err
	}
	entries, err := meter.Int64ObservableGauge("krm_image_cache_entries", metric.WithDescription("Cached image tags and images."))
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
