// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package probe is as much of grpc-health-probe as pod templates use: it asks a gRPC server for its health and tells by
// its exit code.
package probe

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

// Exit codes, those of grpc-health-probe.
const (
	exitServing    = 0
	exitArguments  = 1
	exitConnection = 2
	exitRPC        = 3
	exitNotServing = 4
)

// Run asks the server at -addr for the health of -service, within -connect-timeout and -rpc-timeout (1s each), and returns
// the exit code: 0 serving, 1 bad arguments, 2 not reachable, 3 no answer, 4 not serving.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
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
	conn, err := connect(ctx, *addr, *connectTimeout)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "error: connect to %s within %v: %v\n", *addr, *connectTimeout, err)
		return exitConnection
	}
	defer conn.Close() //nolint:errcheck // the process ends
	ctx, cancel := context.WithTimeout(ctx, *rpcTimeout)
	defer cancel()
	resp, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: *service})
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "error: health check of %s: %v: %s\n", *addr, status.Code(err), status.Convert(err).Message())
		return exitRPC
	}
	_, _ = fmt.Fprintln(stdout, "status:", resp.GetStatus())
	if resp.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		return exitNotServing
	}
	return exitServing
}

// connect returns when the connection stands, so that an unreachable server can be told from one that does not answer.
func connect(ctx context.Context, addr string, timeout time.Duration) (*grpc.ClientConn, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	conn.Connect()
	for state := conn.GetState(); state.String() != "READY"; state = conn.GetState() {
		if !conn.WaitForStateChange(ctx, state) {
			_ = conn.Close()
			return nil, ctx.Err()
		}
	}
	return conn, nil
}
