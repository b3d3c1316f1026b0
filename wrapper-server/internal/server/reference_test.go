// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/krmfn/krmfn/services/server/flags"
	"github.com/krmfn/krmfn/services/server/flags/flagstest"
)

const reference = "../../../docs/wrapper-server.md"

// environment is what the page says of the variables that the server heeds.
const environment = "Metrics and traces follow the OpenTelemetry environment; both are off where it does not ask for them.\n" +
	"`OTEL_METRICS_EXPORTER=prometheus` serves `/metrics` on `OTEL_EXPORTER_PROMETHEUS_HOST` (`localhost`) and `_PORT` (`9464`).\n" +
	"`OTEL_TRACES_EXPORTER=otlp` sends one span for each evaluation, as `http/protobuf`, with `OTEL_EXPORTER_OTLP_ENDPOINT`,\n" +
	"`_HEADERS` and `_TIMEOUT` (also with `TRACES_` before them), `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`. What is\n" +
	"not supported (other exporters, `grpc`, samplers, compression, proxies, certificates but the system's) is warned of at the\n" +
	"start."

// The reference of flags says what the flags say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	page := flags.Reference(new(options).flags(), "go -C wrapper-server test ./internal/server -run TestReference -update",
		"The function's command stands behind `--`: `wrapper-server [flags] -- ENTRYPOINT [ARG...]`. Called as `cp` or as\n"+
			"`grpc-health-probe`, the binary is `cp -a SOURCE... TARGET` or the probe (`-addr`, `-service`, `-connect-timeout`,\n"+
			"`-rpc-timeout`).\n\n"+environment, nil)
	flagstest.Reference(t, reference, page)
}
