// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package rendering_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/renderstatus"
	"github.com/krmfn/krmfn/task-handler/internal/rendering"
)

// outcomes are renderers by the code of their result.
var outcomes = map[string]rendering.Renderer{
	"ok": func(context.Context, rendering.Request) (rendering.Result, error) {
		return rendering.Result{InputHash: "h1:x"}, nil
	},
	"failed": func(context.Context, rendering.Request) (rendering.Result, error) {
		return rendering.Result{Report: renderstatus.NewUnreached(errors.New("secret content"))}, nil
	},
	"invalid":  failing(&rendering.InputError{Err: errors.New("bad")}),
	"busy":     failing(&evaluation.BusyError{}),
	"canceled": failing(context.Canceled),
	"deadline": failing(&rendering.TimeoutError{}),
	"error":    failing(errors.New("other")),
}

func failing(err error) rendering.Renderer {
	return func(context.Context, rendering.Request) (rendering.Result, error) { return rendering.Result{}, err }
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	reader := sdkmetric.NewManualReader()
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	want := map[string]int64{}
	for name, r := range outcomes {
		counted, err := rendering.Observed(r, provider, slog.New(slog.DiscardHandler), false)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = counted(t.Context(), rendering.Request{})
		want[name] = 1
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, m := range all.ScopeMetrics[0].Metrics {
		sum, ok := m.Data.(metricdata.Sum[int64])
		switch {
		case ok && m.Name == "krm_render_requests":
			for _, p := range sum.DataPoints {
				code, _ := p.Attributes.Value("code")
				got[code.AsString()] += p.Value
			}
		case ok && m.Name == "krm_render_running" && sum.DataPoints[0].Value != 0:
			t.Errorf("running renders = %d, want 0", sum.DataPoints[0].Value)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// The log line warns about each image that another version evaluated, once.
func TestLogWarns(t *testing.T) {
	t.Parallel()
	f := renderstatus.Function{Warning: "x:v9.9.9 is evaluated by v0.2.0"}
	render := func(context.Context, rendering.Request) (rendering.Result, error) {
		return rendering.Result{Report: renderstatus.NewReport([]renderstatus.Function{f, f}, nil)}, nil
	}
	var out bytes.Buffer
	logged, err := rendering.Observed(render, noop.NewMeterProvider(), slog.New(slog.NewTextHandler(&out, nil)), false)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = logged(t.Context(), rendering.Request{})
	if line := out.String(); !strings.Contains(line, "level=WARN") || !strings.Contains(line, `warnings="[x:v9.9.9 is evaluated by v0.2.0]"`) {
		t.Error(line)
	}
}

// Every render has one log line, without content of the package.
func TestLog(t *testing.T) {
	t.Parallel()
	for name, r := range outcomes {
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, nil))
		logged, err := rendering.Observed(r, noop.NewMeterProvider(), log, false)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = logged(t.Context(), rendering.Request{Files: []packages.File{{Path: "a", Content: []byte("secret")}}})
		line := out.String()
		if strings.Count(line, "\n") != 1 || !strings.Contains(line, "code="+name) || !strings.Contains(line, "files=1") || strings.Contains(line, "secret") {
			t.Errorf("%s: log = %s", name, line)
		}
	}
}

// The log line of a failed render is a warning with the function's exit code. The reason is optional.
func TestLogOfFailure(t *testing.T) {
	t.Parallel()
	render := func(context.Context, rendering.Request) (rendering.Result, error) {
		functions := []renderstatus.Function{{}, {Error: "secret", Result: renderstatus.Result{Image: "fn:v1", ExitCode: 3}}}
		return rendering.Result{Report: renderstatus.NewReport(functions, errors.New("fn:v1 failed: secret\nmore"))}, nil
	}
	for reasons, want := range map[bool]string{false: "", true: `reason="fn:v1 failed: secret"`} {
		var out bytes.Buffer
		logged, err := rendering.Observed(render, noop.NewMeterProvider(), slog.New(slog.NewTextHandler(&out, nil)), reasons)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = logged(t.Context(), rendering.Request{})
		line := out.String()
		if !strings.Contains(line, "level=WARN") || !strings.Contains(line, "image=fn:v1 exit_code=3") || !strings.Contains(line, want) ||
			!reasons && strings.Contains(line, "secret") {
			t.Errorf("reasons=%v: log = %s, want %q", reasons, line, want)
		}
	}
}
