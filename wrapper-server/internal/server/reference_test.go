// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"testing"

	"github.com/krmfn/krmfn/services/server/flags"
	"github.com/krmfn/krmfn/services/server/flags/flagstest"
)

const reference = "../../../docs/wrapper-server.md"

// environment describes the environment variables that the server reads.
const environment = "OpenTelemetry environment variables configure metrics and traces; both are off by default.\n" +
	"`OTEL_METRICS_EXPORTER=prometheus` serves `/metrics` on `OTEL_EXPORTER_PROMETHEUS_HOST` (`localhost`) and `_PORT` (`9464`).\n" +
	"`OTEL_TRACES_EXPORTER=otlp` sends one span per evaluation, as `http/protobuf`, according to `OTEL_EXPORTER_OTLP_ENDPOINT`,\n" +
	"`_HEADERS` and `_TIMEOUT` (or their `TRACES_` forms), `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`. At the start, the\n" +
	"wrapper server warns about settings that it does not support: other exporters, `grpc`, samplers, compression, proxies, and\n" +
	"certificates other than the system's."

// aboutTarget describes which requests are rejected. aboutTLS describes TLS. aboutMemory describes what happens if a function exceeds
// the memory limit.
const (
	aboutTarget = "`KRMFN_POD_UID` and `KRMFN_FUNCTION` identify the pod and its function. Function runners set both variables, and name the pod\n" +
		"and the function in each request, including health checks. The wrapper server refuses a request for another pod or function as\n" +
		"Unavailable before anything runs: the address belonged to a pod that is gone. It answers requests that name neither, such as those\n" +
		"of Porch's function runner and of the kubelet, and all requests if the variables are not set. The function does not receive\n" +
		"variables that begin with `KRMFN_`, `OTEL_` and `GRPC_`."
	aboutTLS = "With `--tls`, only function runners can connect: clients must show a certificate for\n" +
		"`function-runner.krmfn.dev`, together with the certificate of the authority that signed it. `KRMFN_RUNNER_AUTHORITIES` holds the\n" +
		"SHA-256 fingerprints of these authorities, separated by commas. The wrapper server's own key exists in its memory only.\n" +
		"The kubelet uses the health service on `--health-port`, in plain text. See [TLS between the function runner and function\n" +
		"pods](operate.md#tls-between-the-function-runner-and-function-pods)."
	aboutMemory = "## Memory\n" +
		"\n" +
		"A function that exceeds the container's memory limit affects the whole container. On nodes with cgroup v2, the kubelet sets\n" +
		"`memory.oom.group`, so that the kernel kills all processes of the container, including the wrapper server. All calls that run in\n" +
		"the pod fail with Unavailable, and waiting calls go to other pods. The kubelet then restarts the container. On nodes with cgroup\n" +
		"v1, or with `singleProcessOOMKill: true` in the kubelet's configuration, the kernel kills a single process, usually the largest:\n" +
		"only its call fails, with `signal: killed`.\n" +
		"\n" +
		"The number of concurrent evaluations therefore depends on the memory limit: one for each 128 MiB, at least 1 and at most 8. Go\n" +
		"functions of the catalog use 30 MiB for a list of 50 KiB, 92 MiB for 1 MiB, 430 MiB for 6 MiB and 1.4 GiB for 20 MiB. For large\n" +
		"lists, lower `--max-concurrent-evaluations-per-pod` of the function runner, or raise the limit with the function's `resources`.\n" +
		"The wrapper server itself uses 13 MiB plus the lists of running and waiting calls. It collects garbage more often when it\n" +
		"approaches a quarter of the limit, and returns memory within 30 seconds after the last call."
)

// The reference page contains the descriptions of all flags.
func TestReference(t *testing.T) {
	t.Parallel()
	page := flags.Reference(new(options).flags(), "go -C wrapper-server test ./internal/server -run TestReference -update",
		"The function's command follows `--`: `wrapper-server [flags] -- ENTRYPOINT [ARG...]`. Under the name `cp`, the binary works like\n"+
			"`cp -a SOURCE... TARGET`; under the name `grpc-health-probe`, it is the probe (`-addr`, `-service`, `-connect-timeout`,\n"+
			"`-rpc-timeout`).\n\n"+aboutTarget+"\n\n"+aboutTLS+"\n\n"+environment+"\n\n"+aboutMemory+"\n\n## Flags",
		map[string]string{"max-concurrent-evaluations": "one for each 128 MiB of the memory limit, 1 to 8"})
	flagstest.Reference(t, reference, page)
}
