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

// The exit codes of grpc-health-probe.
const (
	exitServing    = 0
	exitArguments  = 1
	exitConnection = 2
	exitRPC        = 3
	exitNotServing = 4
)

// probeHealth is grpc-health-probe with the flags that pod templates use. It checks the health of -service at -addr, within
// -connect-timeout and -rpc-timeout (1s each), prints the status, and returns the exit code: 0 if the service is serving, 1 for invalid
// arguments, 2 if the connection fails, 3 if the request fails, 4 if the service is not serving.
func probeHealth(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("grpc-health-probe", flag.ContinueOnError)
	flags.SetOutput(stderr)
	addr := flags.String("addr", "", "host:port of the server (required)")
	service := flags.String("service", "", "name of the service; empty means the server")
	connectTimeout := flags.Duration("connect-timeout", time.Second, "maximum duration of connecting")
	rpcTimeout := flags.Duration("rpc-timeout", time.Second, "maximum duration of the request")
	if err := flags.Parse(args); err != nil {
		return exitArguments
	}
	if *addr == "" || *connectTimeout <= 0 || *rpcTimeout <= 0 || flags.NArg() > 0 {
		_, _ = fmt.Fprintln(stderr, "error: set -addr, set timeouts of more than 0, and pass no arguments")
		return exitArguments
	}
	conn, err := (&net.Dialer{Timeout: *connectTimeout}).DialContext(ctx, "tcp", *addr)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "error: connect to %s within %v: %v\n", *addr, *connectTimeout, err)
		return exitConnection
	}
	defer conn.Close() //nolint:errcheck // the process ends
	if err = conn.SetDeadline(time.Now().Add(*rpcTimeout)); err != nil {
		_, _ = fmt.Fprintf(stderr, "error: set the deadline of the health check: %v\n", err)
		return exitRPC
	}
	serving, err := checkHealth(conn, *service)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "error: health check of %s: %v\n", *addr, err)
		return exitRPC
	}
	_, _ = fmt.Fprintln(stdout, "status:", serving)
	if serving != grpc_health_v1.HealthCheckResponse_SERVING {
		return exitNotServing
	}
	return exitServing
}
