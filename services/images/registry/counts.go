// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

type result int

const (
	// hit was known, stale was known for longer than the TTL, miss was asked for, and failed could not be found out.
	hit result = iota
	stale
	miss
	failed
	results
)

var resultNames = [results]string{hit: "hit", stale: "stale", miss: "miss", failed: "error"}

// counts counts lookups. Warm calls look up, so that it takes no more than an addition.
type counts [results]atomic.Int64

func (c *counts) add(r result, err error) {
	if err != nil {
		r = failed
	}
	c[r].Add(1)
}

// Observe registers what is measured when somebody looks:
//
//   - krm_image_lookups (kind, result): lookups of tags and images (kind: tag, image) that were known (hit), known for longer than
//     the TTL (stale), asked for (miss), or could not be found out (error)
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
