// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/krmfn/krmfn/internal/images/registry"
)

func loaded(digest string) []registry.Image {
	return []registry.Image{{Reference: ref, Digest: digest, Command: []string{"/fn"}}}
}

// Loaded images need no registry, even after a long outage and with many made-up references.
func TestLoadedImagesNeedNoRegistry(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.source.set("", errDown, time.Millisecond)
		b.Load(loaded("sha256:one"))
		b.resolves("sha256:one", 0, 1)
		for i := range 3000 {
			if _, err := b.Resolve(b.Context(), fmt.Sprintf("r.io/a:%d", i)); err == nil {
				b.Fatal("Resolve() of a made-up reference = nil, want an error")
			}
		}
		time.Sleep(24 * time.Hour)
		got, err := b.Resolve(b.Context(), ref)
		if got != "sha256:one" || err != nil {
			b.Errorf("Resolve() = %q, %v", got, err)
		}
		b.source.count()
		image, err := b.Image(b.Context(), ref, "sha256:one")
		if diff := cmp.Diff(loaded("sha256:one")[0], image); diff != "" || err != nil {
			b.Errorf("Image() = %v (-want +got):\n%s", err, diff)
		}
		if b.source.count() > 0 {
			b.Errorf("requests for a loaded image = %q, want none", b.source.asked)
		}
	})
}

// A second Load updates tags that could not be looked up within the TTL, but not those that were.
func TestSecondLoad(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.Load(loaded("sha256:old"))
		b.resolves("sha256:old", 0, 1)
		b.resolves("sha256:one", 0, 0)
		b.Load(loaded("sha256:two"))
		b.resolves("sha256:one", 0, 0)
		b.source.set("", errDown, 0)
		time.Sleep(6 * time.Minute)
		b.Load(loaded("sha256:three"))
		b.resolves("sha256:three", 0, 1)
	})
}

// A loaded tag that was deleted in the registry is removed.
func TestLoadedTagIsGone(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.Load(loaded("sha256:old"))
		b.source.set("", &registry.NotFoundError{Reason: "MANIFEST_UNKNOWN"}, 0)
		b.resolves("sha256:old", 0, 1)
		time.Sleep(2 * time.Second)
		if got, err := b.Resolve(b.Context(), ref); err == nil {
			b.Errorf("Resolve() = %q, want an error", got)
		}
	})
}

func TestImagesReturnsLookedUpImages(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		b.resolves("sha256:one", 0, 1)
		for _, digest := range []string{"sha256:one", "sha256:two"} {
			if _, err := b.Image(b.Context(), ref, digest); err != nil {
				b.Fatal(err)
			}
		}
		var got []string
		for _, i := range b.Images() {
			got = append(got, i.Reference+" "+i.Digest)
		}
		want := []string{ref + " sha256:one", "r.io/team/fn@sha256:two sha256:two"}
		if diff := cmp.Diff(want, got); diff != "" {
			b.Errorf("Images() (-want +got):\n%s", diff)
		}
	})
}

func TestLookupsAreCounted(t *testing.T) {
	t.Parallel()
	timed(t, func(b bench) {
		reader := sdkmetric.NewManualReader()
		if err := b.Observe(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("")); err != nil {
			b.Fatal(err)
		}
		b.resolves("sha256:one", 0, 1)
		b.resolves("sha256:one", 0, 0)
		for range 2 {
			if _, err := b.Image(b.Context(), ref, "sha256:one"); err != nil {
				b.Fatal(err)
			}
		}
		b.source.set("", errDown, 0)
		time.Sleep(6 * time.Minute)
		b.resolves("sha256:one", 0, 2)
		if _, err := b.Resolve(b.Context(), "r.io/other:v1"); err == nil {
			b.Error("Resolve() during an outage = nil, want an error")
		}
		for image, err := range map[string]error{"gone": &registry.NotFoundError{}, "private": &registry.UnauthorizedError{}, "chart": &registry.UnusableError{}, "dropped": context.Canceled} {
			b.source.set("", err, 0)
			if _, err := b.Resolve(b.Context(), "r.io/"+image+":v1"); err == nil {
				b.Errorf("%s: Resolve() = nil, want an error", image)
			}
		}
		want := map[string]int64{
			"tag hit": 1, "tag stale": 1, "tag miss": 1, "tag error": 1, "tag not_found": 1, "tag denied": 1, "tag unusable": 1, "tag canceled": 1,
			"image hit": 1, "image stale": 0, "image miss": 1, "image error": 0, "image not_found": 0, "image denied": 0, "image unusable": 0,
			"image canceled": 0, "tag kept": 1, "image kept": 1,
		}
		if diff := cmp.Diff(want, read(t, reader)); diff != "" {
			b.Errorf("metrics (-want +got):\n%s", diff)
		}
	})
}

// read returns the values of the metrics by kind and result.
func read(t *testing.T, reader *sdkmetric.ManualReader) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	values := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		switch data := m.Data.(type) {
		case metricdata.Sum[int64]:
			for _, p := range data.DataPoints {
				kind, _ := p.Attributes.Value("kind")
				how, _ := p.Attributes.Value("result")
				values[kind.AsString()+" "+how.AsString()] = p.Value
			}
		case metricdata.Gauge[int64]:
			for _, p := range data.DataPoints {
				kind, _ := p.Attributes.Value("kind")
				values[kind.AsString()+" kept"] = p.Value
			}
		}
	}
	return values
}

// Callers can make up references. The memory for them is limited.
//
//nolint:paralleltest // it measures the process's heap
func TestManyReferencesTakeBoundedMemory(t *testing.T) {
	const distinct, most = 10_000, 16 << 20
	source := &source{digest: "sha256:one"}
	cache := registry.NewCache(t.Context(), source, registry.CacheOptions{})
	defer cache.Close()
	before := heap()
	for i := range distinct {
		ref := fmt.Sprintf("r.io/team-%d/fn:v1", i)
		digest, err := cache.Resolve(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := cache.Image(t.Context(), ref, digest); err != nil {
			t.Fatal(err)
		}
	}
	source.asked = nil
	if grown := heap() - before; grown > most {
		t.Errorf("%d references use %d bytes, want at most %d", distinct, grown, most)
	}
	if n := len(cache.Images()); n != 1024 {
		t.Errorf("len(Images()) = %d, want 1024", n)
	}
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
