// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/krmfn/krmfn/image-warmer/internal/warmer"
	"github.com/krmfn/krmfn/image-warmer/options"
	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/server/telemetry"
)

// lastWord cancels a watch when the report of the first run is written.
type lastWord struct{ end context.CancelFunc }

func (w lastWord) Write(text []byte) (int, error) {
	w.end()
	return len(text), nil
}

// Each run of a watch reads the policy again, and records failures in a metric.
func TestPolicyReloads(t *testing.T) {
	t.Parallel()
	const valid = "apiVersion: krmfn.dev/v1alpha1\nkind: ImagePolicy\nallow: [{prefix: example.com/}]\n"
	for name, test := range map[string]struct {
		text string
		want int64
	}{
		"the same": {valid, 1},
		"broken":   {"{", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "policy.yaml")
			write := func(text string) {
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			write(valid)
			log := slog.New(slog.DiscardHandler)
			store, err := policy.NewStore(file, nil, log)
			if err != nil {
				t.Fatal(err)
			}
			write(test.text)
			o, err := options.Parse([]string{"other.invalid/fn:v1", "--watch", "--prepull=false", "--metadata-file=" + filepath.Join(t.TempDir(), "m")}, nil)
			if err != nil {
				t.Fatal(err)
			}
			reader := sdkmetric.NewManualReader()
			reloads, err := telemetry.NewReloads(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := command{
				options: o, telemetry: &telemetry.Telemetry{Reloads: reloads}, policy: store, stdout: lastWord{cancel}, stderr: &bytes.Buffer{},
				config: warmer.Config{Options: o, Log: log},
			}
			if code := c.watch(ctx); code != exitOK {
				t.Fatalf("exit code = %d, want 0", code)
			}
			if got := successful(t, reader); got != test.want {
				t.Errorf("krm_config_last_reload_successful = %d, want %d", got, test.want)
			}
		})
	}
}

// successful returns krm_config_last_reload_successful of the image policy, or -1 if it is missing.
func successful(t *testing.T, reader sdkmetric.Reader) int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			gauge, ok := m.Data.(metricdata.Gauge[int64])
			if !ok || m.Name != "krm_config_last_reload_successful" {
				continue
			}
			for _, point := range gauge.DataPoints {
				if config, _ := point.Attributes.Value("config"); config.AsString() == "image_policy" {
					return point.Value
				}
			}
		}
	}
	return -1
}
