// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// keepaliveTime is how long nothing may come from a runner in a call before it is asked for a sign of life. A server
	// with gRPC's default policy, as Porch's runner, hangs up after the fourth time in one call: that is five minutes, and
	// more than Porch lets a request take.
	keepaliveTime = 75 * time.Second
	// keepaliveTimeout is how long a runner may take to give that sign, and to acknowledge what is sent to it.
	keepaliveTimeout = 20 * time.Second
)

// serviceConfig spreads the calls over all addresses of the target, and repeats evaluations that did not reach a runner, for
// about three seconds: long enough for the next replica to take over. KRM functions have no effect but their output, so that one whose
// runner went away in the middle may run again.
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

// reconnect tries again sooner than gRPC's second, so that a repeated call finds a runner that has restarted.
var reconnect = grpc.ConnectParams{
	Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 5 * time.Second},
	MinConnectTimeout: 5 * time.Second,
}

// Dial returns a connection to a function runner, without encryption, for NewGRPC. It is made on the first call, kept alive,
// and shared by all calls. The target is host:port, or a gRPC name: of a name with several addresses, such as a headless
// Service, every address gets its share of the calls. The connection is the caller's to close.
func Dial(target string, limits Limits, options ...grpc.DialOption) (*grpc.ClientConn, error) {
	limits = limits.complete()
	conn, err := grpc.NewClient(target, append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(serviceConfig),
		grpc.WithConnectParams(reconnect),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime, Timeout: keepaliveTimeout}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallSendMsgSize(limits.MaxMessageSize), grpc.MaxCallRecvMsgSize(limits.MaxMessageSize),
			// What is sent must be kept to be sent again. A list that takes several messages is sent once.
			grpc.MaxRetryRPCBufferSize(limits.MaxMessageSize)),
	}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("the address of the function runner is %q, want host:port: %w", target, err)
	}
	return conn, nil
}
