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

// aboutTarget says which requests are refused, and aboutMemory what becomes of a function that takes too much.
const (
	aboutTarget = "`KRMFN_POD_UID` and `KRMFN_FUNCTION` say which pod of which function this is. Function runners set both, and name in each\n" +
		"request, health checks too, the pod and the function that they mean. A request that is meant for another is refused as\n" +
		"Unavailable before anything runs: its pod has gone, and its address is this pod's now. Requests that name none, as those of\n" +
		"Porch's function runner and of the kubelet, are answered. Without the variables all are. Variables that begin with `KRMFN_`,\n" +
		"`OTEL_` and `GRPC_` are not handed on to the function."
	aboutMemory = "## Memory\n\n" +
		"A function that exceeds the container's memory limit takes the whole container down. On nodes with cgroup v2 the kubelet sets\n" +
		"`memory.oom.group`, with which the kernel kills all processes of the container, the wrapper server too. All calls that run in\n" +
		"the pod fail as Unavailable, and those that wait in it are sent to other pods. The kubelet then restarts the container. With\n" +
		"`singleProcessOOMKill: true` in the kubelet's configuration, and on nodes with cgroup v1, the kernel kills one process, mostly\n" +
		"the largest: then its call alone fails, with `signal: killed`.\n\n" +
		"So how many evaluations run at once follows from the memory limit: one for each 128 MiB, at least 1 and at most 8. Functions of\n" +
		"the catalog, written in Go, were measured to take 30 MiB for a list of 50 KiB, 92 MiB for 1 MiB, 430 MiB for 6 MiB and 1.4 GiB for\n" +
		"20 MiB. Where lists are large, lower `--max-concurrent-evaluations-per-pod` of the function runner, or raise the limit by the\n" +
		"function's `resources`. The wrapper server itself takes 13 MiB and the lists of the calls that run and wait. It collects garbage\n" +
		"often when it comes near a quarter of the limit, and gives memory back within 30 seconds after the last call."
)

// The reference of flags says what the flags say of themselves.
func TestReference(t *testing.T) {
	t.Parallel()
	page := flags.Reference(new(options).flags(), "go -C wrapper-server test ./internal/server -run TestReference -update",
		"The function's command stands behind `--`: `wrapper-server [flags] -- ENTRYPOINT [ARG...]`. Called as `cp` or as\n"+
			"`grpc-health-probe`, the binary is `cp -a SOURCE... TARGET` or the probe (`-addr`, `-service`, `-connect-timeout`,\n"+
			"`-rpc-timeout`).\n\n"+aboutTarget+"\n\n"+environment+"\n\n"+aboutMemory+"\n\n## Flags",
		map[string]string{"max-concurrent-evaluations": "one for each 128 MiB of the memory limit, 1 to 8"})
	flagstest.Reference(t, reference, page)
}
