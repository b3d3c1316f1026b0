// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/server/logging"
)

func TestMetricsAddress(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]string{
		"":                                 "",
		"OTEL_METRICS_EXPORTER=":           "",
		"OTEL_METRICS_EXPORTER=none":       "",
		"OTEL_METRICS_EXPORTER=prometheus": "localhost:9464",
		"OTEL_METRICS_EXPORTER=prometheus OTEL_SDK_DISABLED=true":                                                "",
		"OTEL_METRICS_EXPORTER=prometheus OTEL_EXPORTER_PROMETHEUS_HOST=0.0.0.0 OTEL_EXPORTER_PROMETHEUS_PORT=1": "0.0.0.0:1",
		"OTEL_METRICS_EXPORTER=prometheus OTEL_EXPORTER_PROMETHEUS_PORT=x":                                       "error",
		"OTEL_METRICS_EXPORTER=otlp": "error",
	} {
		got, err := newVariables(strings.Fields(environ)).metricsAddress()
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: got %q (%v), want %q", environ, got, err, want)
		}
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for environ, want := range map[string]string{
		"": "http://localhost:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://c:4318":                                          "http://c:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://c/base/":                                        "https://c/base/v1/traces",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/x":                                      "http://c/x",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c:1":                                      "http://c:1",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://c/x OTEL_EXPORTER_OTLP_ENDPOINT=http://d": "http://c/x",
	} {
		s, err := newVariables(append(strings.Fields(environ), "OTEL_TRACES_EXPORTER=otlp")).traces()
		if err != nil {
			t.Fatalf("%s: %v", environ, err)
		}
		if got := s.collector.endpoint.String(); got != want {
			t.Errorf("%s: got %q, want %q", environ, got, want)
		}
	}
}

func TestTraceSettings(t *testing.T) {
	t.Parallel()
	s, err := newVariables([]string{
		"OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_TIMEOUT=1", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=1500",
		"OTEL_EXPORTER_OTLP_HEADERS=a=%3D, b = c=d,", "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=low,k8s.pod.name=own", "OTEL_SERVICE_NAME=high", "HOSTNAME=host",
	}).traces()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{"timeout": s.collector.timeout.String()}
	for key := range s.collector.header {
		got[key] = s.collector.header.Get(key)
	}
	for _, a := range s.resource {
		got[a.GetKey()] += a.GetValue().GetStringValue()
	}
	delete(got, "service.version")
	want := map[string]string{
		"timeout": (1500 * time.Millisecond).String(), "A": "=", "B": "c=d", "service.name": "high", "k8s.pod.name": "own",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// What cannot be done as it is asked for is told, without secrets, and keeps no function from running.
func TestWarnings(t *testing.T) {
	t.Parallel()
	const otlp = "OTEL_TRACES_EXPORTER=otlp "
	for environ, want := range map[string]string{
		"": "",
		"OTEL_TRACES_SAMPLER=always_off OTEL_TRACES_EXPORTER=none":        "",
		otlp + "OTEL_TRACES_SAMPLER=parentbased_always_on":                "",
		otlp + "OTEL_PROPAGATORS=tracecontext,baggage":                    "",
		otlp + "OTEL_EXPORTER_OTLP_COMPRESSION=none":                      "",
		otlp + "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=x OTEL_SDK_DISABLED=": "",
		"OTEL_METRICS_EXPORTER=otlp":                                      `OTEL_METRICS_EXPORTER is \"otlp\", want prometheus or none`,
		"OTEL_TRACES_EXPORTER=console":                                    `OTEL_TRACES_EXPORTER is \"console\", want otlp or none`,
		otlp + "OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                         `OTEL_EXPORTER_OTLP_PROTOCOL is \"grpc\", want http/protobuf`,
		otlp + "OTEL_EXPORTER_OTLP_ENDPOINT=collector:4318":               "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL",
		otlp + "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://u:secret@c":     "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is not a URL",
		otlp + "OTEL_EXPORTER_OTLP_HEADERS=secret":                        "OTEL_EXPORTER_OTLP_HEADERS: want key=value",
		otlp + "OTEL_EXPORTER_OTLP_HEADERS=a=secret%0A":                   "OTEL_EXPORTER_OTLP_HEADERS: want key=value",
		otlp + "OTEL_EXPORTER_OTLP_TIMEOUT=10s":                           `OTEL_EXPORTER_OTLP_TIMEOUT is \"10s\"`,
		otlp + "OTEL_RESOURCE_ATTRIBUTES=a=%":                             "OTEL_RESOURCE_ATTRIBUTES: want key=value",
		otlp + "OTEL_TRACES_SAMPLER=always_off OTEL_BSP_SCHEDULE_DELAY=1 OTEL_EXPORTER_OTLP_COMPRESSION=gzip HTTPS_PROXY=secret OTEL_PROPAGATORS=b3": `["HTTPS_PROXY","OTEL_BSP_SCHEDULE_DELAY","OTEL_EXPORTER_OTLP_COMPRESSION","OTEL_PROPAGATORS","OTEL_TRACES_SAMPLER"]`,
	} {
		log := new(bytes.Buffer)
		New(strings.Fields(environ), logging.New(log, logging.JSON, 1))
		text := log.String()
		if (want == "") != (text == "") || !strings.Contains(text, want) || strings.Contains(text, "secret") || strings.Count(text, "\n") > 1 {
			t.Errorf("%s: logged %q, want %q", environ, text, want)
		}
	}
}

func FuzzPairs(f *testing.F) {
	f.Add("a=b,c=%20")
	f.Fuzz(func(t *testing.T, list string) {
		pairs, err := parsePairs(list)
		for _, p := range pairs {
			if err != nil || p[0] == "" || !printable(p[0]+p[1]) {
				t.Errorf("%q is read as %q (%v)", list, pairs, err)
			}
		}
	})
}
