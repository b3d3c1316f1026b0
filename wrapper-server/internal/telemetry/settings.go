// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"

	"github.com/krmfn/krmfn/internal/server/version"
)

// variables are an environment. A variable that is empty counts as not set, as OpenTelemetry has it.
type variables map[string]string

func newVariables(environ []string) variables {
	v := variables{}
	for _, kv := range environ {
		if key, value, _ := strings.Cut(kv, "="); value != "" {
			v[key] = value
		}
	}
	return v
}

// exporter returns what OTEL_<signal>_EXPORTER asks for: whether it is the exporter that is supported, or an error when it
// is another one. Not set means none.
func (v variables) exporter(signal, supported string) (bool, error) {
	switch name := "OTEL_" + signal + "_EXPORTER"; v[name] {
	case supported:
		return !strings.EqualFold(v["OTEL_SDK_DISABLED"], "true"), nil
	case "", "none":
		return false, nil
	default:
		return false, fmt.Errorf("%s is %q, want %s or none", name, v[name], supported)
	}
}

// metricsAddress returns host:port to serve metrics on, or "" for none.
func (v variables) metricsAddress() (string, error) {
	wanted, err := v.exporter("METRICS", "prometheus")
	if !wanted || err != nil {
		return "", err
	}
	host, port := cmp.Or(v["OTEL_EXPORTER_PROMETHEUS_HOST"], "localhost"), cmp.Or(v["OTEL_EXPORTER_PROMETHEUS_PORT"], "9464")
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("OTEL_EXPORTER_PROMETHEUS_PORT is %q, want 1 to 65535", port)
	}
	return net.JoinHostPort(host, port), nil
}

// traceSettings are where spans go, and what they say of this process.
type traceSettings struct {
	collector collector
	resource  []*commonpb.KeyValue
}

// traces returns nil where no traces are asked for.
func (v variables) traces() (*traceSettings, error) {
	wanted, err := v.exporter("TRACES", "otlp")
	if !wanted || err != nil {
		return nil, err
	}
	if protocol := v.otlp("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q, want http/protobuf", protocol)
	}
	endpoint, err1 := v.endpoint()
	header, err2 := v.header()
	timeout, err3 := v.timeout()
	resource, err4 := v.resource()
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	return &traceSettings{collector: collector{endpoint: endpoint, header: header, timeout: timeout}, resource: resource}, nil
}

// otlp returns a setting of the exporter, that for traces before that for all signals.
func (v variables) otlp(name string) string {
	return cmp.Or(v["OTEL_EXPORTER_OTLP_TRACES_"+name], v["OTEL_EXPORTER_OTLP_"+name])
}

func (v variables) endpoint() (*url.URL, error) {
	// Only the endpoint of all signals is a base.
	name, path := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""
	if v[name] == "" {
		name, path = "OTEL_EXPORTER_OTLP_ENDPOINT", "v1/traces"
	}
	u, err := url.Parse(cmp.Or(v[name], "http://localhost:4318"))
	// What the URL is stays out of the error: it may have a password in it.
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Hostname() == "" || u.User != nil {
		return nil, fmt.Errorf("%s is not a URL like http://host:4318, without user and password", name)
	}
	if path != "" {
		u = u.JoinPath(path)
	}
	return u, nil
}

func (v variables) header() (http.Header, error) {
	header := http.Header{}
	pairs, err := parsePairs(v.otlp("HEADERS"))
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS: %w", err)
	}
	for _, p := range pairs {
		header.Add(p[0], p[1])
	}
	return header, nil
}

func (v variables) timeout() (time.Duration, error) {
	milliseconds, err := strconv.ParseUint(cmp.Or(v.otlp("TIMEOUT"), "10000"), 10, 31)
	if err != nil || milliseconds == 0 {
		return 0, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is %q, want milliseconds, more than 0", v.otlp("TIMEOUT"))
	}
	return time.Duration(milliseconds) * time.Millisecond, nil
}

// resource describes this process. What the environment says goes first.
func (v variables) resource() ([]*commonpb.KeyValue, error) {
	pairs, err := parsePairs(v["OTEL_RESOURCE_ATTRIBUTES"])
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	if name := v["OTEL_SERVICE_NAME"]; name != "" {
		pairs = append([][2]string{{"service.name", name}}, pairs...)
	}
	pairs = append(pairs, [2]string{"service.name", "krmfn-wrapper-server"},
		[2]string{"service.version", version.Version()}, [2]string{"k8s.pod.name", v["HOSTNAME"]})
	var attributes []*commonpb.KeyValue
	for _, p := range pairs {
		known := slices.ContainsFunc(attributes, func(a *commonpb.KeyValue) bool { return a.GetKey() == p[0] })
		if !known && p[1] != "" {
			attributes = append(attributes, text(p[0], p[1]))
		}
	}
	return attributes, nil
}

var errPairs = errors.New("want key=value,... with percent-encoded values")

// parsePairs reads key=value,... with percent-encoded values. Its error has nothing of the text, which may be a secret.
func parsePairs(list string) ([][2]string, error) {
	var pairs [][2]string
	for item := range strings.SplitSeq(list, ",") {
		if strings.TrimSpace(item) == "" {
			continue
		}
		key, value, found := strings.Cut(item, "=")
		key = strings.TrimSpace(key)
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if !found || key == "" || err != nil || !printable(key) || !printable(value) {
			return nil, errPairs
		}
		pairs = append(pairs, [2]string{key, value})
	}
	return pairs, nil
}

// heeded are the variables that configure tracing and are heeded, beside those that say what the default is anyway.
var heeded = []string{
	"OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
	"OTEL_EXPORTER_OTLP_TIMEOUT", "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
}

// ignored returns the variables that are there to change how spans are made and sent, and do not change it here.
func (v variables) ignored() []string {
	var names []string
	for name, value := range v {
		about := slices.ContainsFunc([]string{"OTEL_EXPORTER_OTLP_", "OTEL_TRACES_SAMPLER", "OTEL_BSP_", "OTEL_SPAN_", "OTEL_ATTRIBUTE_"},
			func(prefix string) bool { return strings.HasPrefix(name, prefix) })
		switch {
		case strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_METRICS_"), strings.HasPrefix(name, "OTEL_EXPORTER_OTLP_LOGS_"):
			about = false
		case name == "OTEL_TRACES_SAMPLER" && value == "parentbased_always_on", strings.HasSuffix(name, "_COMPRESSION") && value == "none":
			about = false
		case name == "OTEL_PROPAGATORS":
			about = !slices.Contains(strings.Split(value, ","), "tracecontext")
		case name == "HTTP_PROXY", name == "HTTPS_PROXY", name == "http_proxy", name == "https_proxy":
			about = true
		}
		if about && !slices.Contains(heeded, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
