// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/resolver"

	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
	"github.com/krmfn/krmfn/krmfn/internal/command/program"
	"github.com/krmfn/krmfn/krmfn/internal/portforward"
)

// kubeScheme begins the addresses of function runners that are reached through the API server of their cluster.
const kubeScheme = "kube"

// AddressForm is how a function runner is named.
const AddressForm = "host:port or " + kubeScheme + ":[CONTEXT/]NAMESPACE/SERVICE"

// maxForwardTime limits the first connection through an API server. It leaves time to log in if a credential plugin asks for it.
const maxForwardTime = time.Minute

// findInCluster connects to a Service through the API server, so that what is wrong is known before gRPC tries again and again.
func findInCluster(ctx context.Context, p *program.Program, text string) (endpoint, error) {
	target, err := portforward.Parse(text)
	if err != nil {
		return endpoint{}, failure.Usage(fmt.Errorf("--runner: %w", err))
	}
	service, err := portforward.Open(target, portforward.Kubeconfig{Files: p.Kubeconfig(), Home: p.Getenv("HOME")})
	if err != nil {
		return endpoint{}, outOfReach(ctx, text, err)
	}
	limited, cancel := context.WithTimeout(ctx, maxForwardTime)
	defer cancel()
	conn, err := service.Dial(limited)
	if err != nil {
		service.Close()
		return endpoint{}, outOfReach(ctx, text, err)
	}
	var first atomic.Pointer[net.Conn]
	first.Store(&conn)
	dial := func(ctx context.Context, _ string) (net.Conn, error) {
		if conn := first.Swap(nil); conn != nil {
			return *conn, nil
		}
		return service.Dial(ctx)
	}
	return endpoint{
		target: fmt.Sprintf("%s:%s/%s", kubeScheme, target.Namespace, target.Service),
		options: []grpc.DialOption{
			grpc.WithResolvers(oneHost(target.Host())), grpc.WithContextDialer(dial),
		},
		close: service.Close,
	}, nil
}

// outOfReach says why a function runner in a cluster cannot be used, unless the command itself has ended.
func outOfReach(ctx context.Context, text string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failure.Runner(fmt.Errorf("the function runner at %s:%s cannot be used: %w", kubeScheme, text, err))
}

// oneHost resolves every name of the scheme to one host. A certificate must be that host's.
type oneHost string

// Build gives gRPC the host, which dialers get as the address.
func (h oneHost) Build(_ resolver.Target, client resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	err := client.UpdateState(resolver.State{Endpoints: []resolver.Endpoint{{Addresses: []resolver.Address{{Addr: string(h)}}}}})
	if err != nil {
		return nil, fmt.Errorf("name %s: %w", h, err)
	}
	return resolved{}, nil
}

// Scheme returns the scheme of the targets.
func (oneHost) Scheme() string { return kubeScheme }

// OverrideAuthority returns the host instead of what the target has.
func (h oneHost) OverrideAuthority(resolver.Target) string { return string(h) }

// resolved is a name that always stands for the same.
type resolved struct{}

// ResolveNow does nothing.
func (resolved) ResolveNow(resolver.ResolveNowOptions) {}

// Close does nothing.
func (resolved) Close() {}
