// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"time"

	"google.golang.org/grpc/health/grpc_health_v1"
)

// Exit codes, those of grpc-health-probe.
const (
	exitServing    = 0
	exitArguments  = 1
	exitConnection = 2
	exitRPC        = 3
	exitNotServing = 4
)

// probeHealth asks the server at -addr for the health of -service, within -connect-timeout and -rpc-timeout (1s each), and returns
// the exit code: 0 serving, 1 bad arguments, 2 not reachable, 3 no answer, 4 not serving.
func probeHealth(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("grpc-health-probe", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "", "host:port of the server (required)")
	service := flags.String("service", "", "name of the service; empty means the server as a whole")
	connectTimeout := flags.Duration("connect-timeout", time.Second, "time for connecting")
	rpcTimeout := flags.Duration("rpc-timeout", time.Second, "time for the answer")
	if err := flags.Parse(args); err != nil {
		return exitArguments
	}
	if *addr == "" || *connectTimeout <= 0 || *rpcTimeout <= 0 || flags.NArg() > 0 {
		_, _ = fmt.Fprintln(stderr, "error: -addr must be given, timeouts must be above 0, and there are no arguments")
		return exitArguments
	}
	conn, err := (&net.Dialer{Timeout: *connectTimeout}).DialContext(ctx, "tcp", *addr)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "error: connect to %s within %v: %v\n", *addr, *connectTimeout, err)
		return exitConnection
	}
	defer conn.Close() //nolint:errcheck // the process ends
	if err = conn.SetDeadline(time.Now().Add(*rpcTimeout)); err != nil {
		_, _ = fmt.Fprintf(stderr, "error: limit the time of the health check: %v\n", err)
		return exitRPC
	}
	answer, err := checkHealth(conn, *service)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "error: health check of %s: %v\n", *addr, err)
		return exitRPC
	}
	_, _ = fmt.Fprintln(stdout, "status:", answer)
	if answer != grpc_health_v1.HealthCheckResponse_SERVING {
		return exitNotServing
	}
	return exitServing
}
