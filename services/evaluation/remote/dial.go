// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// keepaliveTime is the time without data from the runner during a call after which the client sends a keepalive ping. A
	// server with gRPC's default policy, such as Porch's runner, closes the connection at the fourth ping within a call. That
	// is after five minutes, longer than any request of Porch.
	keepaliveTime = 75 * time.Second
	// keepaliveTimeout is the time after which an unanswered ping or unacknowledged data closes the connection.
	keepaliveTimeout = 20 * time.Second
)

// serviceConfig balances calls over all addresses of the target and retries evaluations that fail with Unavailable for about
// three seconds, which is long enough to reach another replica. Retrying is safe even if the runner failed in the middle of a
// call, because KRM functions have no side effects.
const serviceConfig = `{
  "loadBalancingConfig": [{"round_robin": {}}],
  "methodConfig": [{
    "name": [{"service": "krmfn.evaluator.v1.FunctionEvaluatorService"}, {"service": "evaluator.FunctionEvaluator"}],
    "retryPolicy": {
      "maxAttempts": 5,
      "initialBackoff": "0.2s",
      "maxBackoff": "2s",
      "backoffMultiplier": 2,
      "retryableStatusCodes": ["UNAVAILABLE"]
    }
  }]
}`

// reconnect has a shorter base delay than gRPC's default of one second, so that a retry reaches a runner that has restarted.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
	MinConnectTimeout: 5 * time.Second,
}

// Dial returns an unencrypted connection to a function runner, for use with New. It connects on the first call, and all
// calls share the connection. The target is host:port or a gRPC target. If its name has several addresses, such as a headless
// Service, calls are balanced over all of them. The caller must close the connection.
func Dial(target string, limits Limits, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	limits = limits.complete()
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithConnectParams(reconnect),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallSendMsgSize(limits.MaxMessageSize), grpc.MaxCallRecvMsgSize(limits.MaxMessageSize),
			// Requests are kept for retries up to this size. A list that takes several messages exceeds it and is not retried.
			grpc.MaxRetryRPCBufferSize(limits.MaxMessageSize)),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("invalid function runner address %q, want host:port: %w", target, err)
	}
	return conn, nil
}
