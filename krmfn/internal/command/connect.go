// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/krmfn/internal/embedded"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/runtime"
)

// functionRuntime evaluates functions and knows which it has.
type functionRuntime interface {
	evaluation.Evaluator
	ListFunctions(ctx context.Context) ([]*evaluatorv1.Function, error)
}

// healthTimeout is how long a function runner may take to say that it serves.
const healthTimeout = 5 * time.Second

// connect returns what evaluates functions, by the flags: a function runner that serves, be it one of its own. The caller
// must disconnect, which ends the runner if it is our own.
func (c *command) connect(ctx context.Context, f *runnerFlags) (_ functionRuntime, disconnect func(), err error) {
	switch {
	case f.builtin:
		return runtime.Builtin{Functions: functions.All(), Prefix: f.imagePrefix, StrictVersions: f.strictVersions}, func() {}, nil
	case f.address != "":
		return c.connectTo(ctx, f)
	}
	own, err := embedded.Start(ctx, embedded.Config{
		Executable: c.Executable, ImagePrefix: f.imagePrefix, StrictVersions: f.strictVersions,
		MaxMessageSize: f.maxMessageSize, MaxListSize: f.maxListSize, Environ: c.Environ,
	})
	if err != nil {
		return nil, nil, &runnerError{err}
	}
	conn, err := dial(own.Target(), f)
	if err != nil {
		return nil, nil, errors.Join(&runnerError{err}, own.Close())
	}
	return ownRuntime{newRuntime(conn, f), f.strictVersions}, func() { c.warn(errors.Join(conn.Close(), own.Close())) }, nil
}

// ownRuntime is the embedded runner, of which we know why it does not find a function.
type ownRuntime struct {
	functionRuntime
	strictVersions bool
}

// Evaluate adds to the error of a tag that was refused which tags there are.
func (r ownRuntime) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	resp, err := r.functionRuntime.Evaluate(ctx, req)
	if !r.strictVersions || !errors.As(err, new(*evaluation.NotFoundError)) {
		return resp, err
	}
	if f, ok := functions.Lookup(reference.CatalogName(req.Image)); ok {
		err = fmt.Errorf("%w: the version here is %s, with the tags %s: name one of them, or leave out --strict-versions",
			err, f.Version, strings.Join(f.Tags, " and "))
	}
	return resp, err
}

// connectTo connects to the function runner that --runner names.
func (c *command) connectTo(ctx context.Context, f *runnerFlags) (functionRuntime, func(), error) {
	conn, err := dial(f.address, f)
	if err != nil {
		return nil, nil, &usageError{fmt.Errorf("--runner is %q, want host:port", f.address)}
	}
	if err := checkHealth(ctx, conn); err != nil {
		return nil, nil, errors.Join(unreachable(ctx, f.address, err), conn.Close())
	}
	return newRuntime(conn, f), func() { c.warn(conn.Close()) }, nil
}

func newRuntime(conn *grpc.ClientConn, f *runnerFlags) functionRuntime {
	return runtime.NewGRPC(conn, limits(f))
}

func dial(target string, f *runnerFlags) (*grpc.ClientConn, error) {
	return runtime.Dial(target, limits(f))
}

func limits(f *runnerFlags) runtime.Limits {
	return runtime.Limits{MaxMessageSize: f.maxMessageSize, MaxListSize: f.maxListSize}
}

// checkHealth asks a runner whether it serves, so that one which does not is known before any work is done.
func checkHealth(ctx context.Context, conn *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	resp, err := grpc_health_v1.NewHealthClient(conn).Check(ctx, &grpc_health_v1.HealthCheckRequest{})
	switch {
	case status.Code(err) == codes.Unimplemented:
		return nil
	case err != nil:
		return err
	case resp.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING:
		return errors.New("it is up and does not serve calls: it has no functions, or is shutting down")
	}
	return nil
}

// unreachable words what is wrong with a runner, unless it is we who ended the connection.
func unreachable(ctx context.Context, address string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	reason := err.Error()
	if s, ok := status.FromError(err); ok {
		reason = s.Message()
		// The part in front tells which layers of the connection found out.
		if _, cause, ok := strings.Cut(reason, `desc = "`); ok {
			reason = strings.TrimSuffix(cause, `"`)
		}
	}
	return &runnerError{fmt.Errorf("the function runner at %s cannot be used: %s: check that it runs and that the address is right, or leave out --runner to start one",
		address, reason)}
}
