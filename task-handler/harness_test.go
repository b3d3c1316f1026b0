// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"math"
	"net"
	"os"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/functions"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/task-handler/options"
)

// The test binary acts as krmfn's executable of functions if it is started with a function or a command.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && !strings.HasPrefix(os.Args[1], "-") {
		syscall.Exit(functions.Command(os.Args, os.Stdin, os.Stdout, os.Stderr)) // with os.Exit, the race detector waits for a second
	}
	// With this limit, processes get the minimum of memory. The test binary may use cgo, whose thread stacks count towards that memory, so the
	// stacks must be small.
	debug.SetMemoryLimit(math.MaxInt64 - 1)
	var stack syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_STACK, &stack)
	if stack.Cur = 1 << 20; err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_STACK, &stack)
	}
	if err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// start serves a task handler on a free port until the test ends or until stop is called, which returns the result of serve.
func start(t *testing.T, set func(*options.Options)) (conn *grpc.ClientConn, stop func() error) {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return startWith(t, program, slog.DiscardHandler, set)
}

// startWith is like start, with another executable of functions and a log.
func startWith(t *testing.T, program string, log slog.Handler, set func(*options.Options)) (conn *grpc.ClientConn, stop func() error) {
	t.Helper()
	o, err := options.Parse(nil)
	if err != nil {
		t.Fatal(err)
	}
	o.ShutdownDelay = 0
	if set != nil {
		set(&o)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	h, err := newHandler(ctx, config{Options: o, Functions: program, Log: slog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	listener := listen(t)
	done := make(chan error, 1)
	go func() { done <- h.serve(ctx, listener) }()
	stopped := false
	stop = func() error {
		if stopped {
			return nil
		}
		stopped = true
		cancel()
		return <-done
	}
	conn, err = grpc.NewClient(listener.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = conn.Close()
		if err := stop(); err != nil {
			t.Errorf("serve() = %v", err)
		}
	})
	return conn, stop
}

func client(t *testing.T, set func(*options.Options)) taskhandlerv1grpc.TaskHandlerServiceClient {
	t.Helper()
	conn, _ := start(t, set)
	return taskhandlerv1grpc.NewTaskHandlerServiceClient(conn)
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// runner is a function runner with a function that returns its input, and one that hangs until the call is cancelled.
type runner struct {
	evaluatorv1grpc.UnimplementedFunctionEvaluatorServiceServer
	// hanging receives a value when the hanging function starts.
	hanging chan struct{}
}

func (r *runner) Evaluate(ctx context.Context, req *evaluatorv1.EvaluateRequest) (*evaluatorv1.EvaluateResponse, error) {
	if strings.HasPrefix(req.GetImage(), "r.io/hang:") {
		r.hanging <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return &evaluatorv1.EvaluateResponse{ResourceList: req.GetResourceList(), Evaluation: &evaluationv1.Evaluation{
		Image: req.GetImage(), Evaluator: evaluationv1.Evaluator_EVALUATOR_POD, Implementation: "pod-1", Digest: "sha256:1",
	}}, nil
}

// startRunner serves a function runner on a free port until the test ends or until stop is called.
func startRunner(t *testing.T) (r *runner, address string, stop func()) {
	t.Helper()
	r = &runner{hanging: make(chan struct{}, 10)}
	server := grpc.NewServer()
	evaluatorv1grpc.RegisterFunctionEvaluatorServiceServer(server, r)
	listener := listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	stop = func() {
		server.Stop()
		<-done
	}
	t.Cleanup(stop)
	return r, listener.Addr().String(), stop
}
