// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/porch"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/worker"
	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/internal/server/logging"
	"github.com/krmfn/krmfn/internal/server/telemetry"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// waitingPerRunning is the maximum number of waiting calls per running call.
const waitingPerRunning = 10

// closeTime is the part of the drain time that is reserved for closing connections, after the evaluations have ended or their time is
// over.
const closeTime = time.Second

// runServer serves until ctx ends, and then finishes running calls. args are the flags and the function's command. The function gets
// environ without the server's own variables. The log goes to stderr, and help goes to stdout.
func runServer(ctx context.Context, args, environ []string, stdout, stderr io.Writer) error {
	o, err := parse(args)
	if errors.Is(err, pflag.ErrHelp) {
		_, err = fmt.Fprint(stdout, flags.Text("Serves a KRM function over gRPC.", "wrapper-server [flags] -- ENTRYPOINT [ARG...]", new(options).flags()))
		return err
	}
	if err != nil {
		return err
	}
	lines := logging.NewWriter(stderr)
	defer lines.Close()
	log := logging.New(lines, logging.JSON, o.logLevel)
	slog.SetDefault(log)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(o.port))
	if err != nil {
		return fmt.Errorf("listen on --port: %w", err)
	}
	return serve(ctx, listener, o, environ, log)
}

func serve(ctx context.Context, listener net.Listener, o options, environ []string, log *slog.Logger) error {
	runner := process.NewRunner(process.Options{
		Limits: process.Limits{Stdout: int64(o.maxMessageSize)}, ScratchRoot: scratchRoot(os.TempDir(), sharedMemory),
		Standby: process.Standby{Processes: o.standby, Total: o.standby, Log: log},
	})
	defer runner.Close()
	workers := worker.NewPool(runner, worker.Options{PerCommand: process.Processors(), Total: process.Processors(), Log: log})
	defer workers.Close()
	// Background tasks end after the server, so that calls that finish during the shutdown are reaped, counted and traced.
	backgroundCtx, stopBackground := context.WithCancel(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	defer background.Wait()
	defer stopBackground()
	background.Go(func() {
		if err := runner.Reap(backgroundCtx); err != nil {
			log.Warn("orphaned processes are not collected", "err", err)
		}
	})
	exports := newTelemetry(ctx, log)
	defer func() {
		if err := exports.Shutdown(ctx); err != nil {
			log.Warn("the last spans are lost", "err", err)
		}
	}()
	metrics, err := newMetrics(ctx, exports.Metrics)
	err = errors.Join(err, telemetry.ObserveWorkers(exports.Metrics, workers.Stats, process.Processors()), telemetry.ObserveStandby(exports.Metrics, runner))
	if err != nil {
		return fmt.Errorf("create metrics: %w", err)
	}
	guard, err := secured(ctx, o, environ, func() { metrics.refused.Add(ctx, 1) }, log)
	if err != nil {
		return err
	}
	draining := newDrain(ctx)
	gate := middleware.NewGate(o.maxConcurrent, waitingPerRunning*o.maxConcurrent)
	interceptor, memory := newInterceptor(environ, gate), newMemory(gate)
	s := grpcserver.New(ctx, grpcserver.Options{
		MaxMessageSize: o.maxMessageSize, Drain: min(closeTime, o.drain), KeepConnections: true, Guard: guard, Logger: log,
		Server: slices.Concat(measureCalls(exports), interceptor.options(), []grpc.ServerOption{grpc.ConnectionTimeout(handshakeTime)}),
	})
	function := newFunction(o, environ, workers)
	workers.Prepare(function.Command)
	evaluator := metrics.counted(draining.guard(gate.Limit(memory.counted(interceptor.announceStart(function)))))
	// Successful evaluations are logged at debug level, because the function runner logs each one; a second line would double the CPU time for
	// logs, most of which is log collection on the node.
	evaluator = middleware.WithLog(evaluator, telemetry.Logger(log), middleware.LogOptions{Succeeded: slog.LevelDebug})
	register(s, traced(evaluator, exports.Traces))
	background.Go(func() { memory.run(backgroundCtx) })
	s.SetServing(true)
	log.Info("serving", "address", listener.Addr().String(), "command", o.command[0], "tls", o.tls)
	return serveUntilDrained(ctx, s, listener, draining, o.drain, log)
}

// newFunction returns an evaluator that runs the function.
func newFunction(o options, environ []string, runner process.Processes) *process.Function {
	return &process.Function{
		Runner:         runner,
		Command:        process.Command{Argv: o.command, Env: process.ImageEnvironment(environ), Worker: o.worker},
		Evaluator:      evaluationv1.Evaluator_EVALUATOR_POD,
		Implementation: o.command[0],
	}
}

// register registers both services. The frozen contract allows Porch's function runner to use this server.
func register(s *grpcserver.Server, e evaluation.Evaluator) {
	evaluatorgrpc.RegisterFunctionEvaluatorServer(s, &porch.Server{
		Evaluator: e, Error: errorStatus, Failure: porch.FailureStatus,
	})
	wrapperv1grpc.RegisterFunctionServiceServer(s, &functionService{evaluator: e})
}

// serveUntilDrained serves until ctx ends, and then until running evaluations have ended, at most for limit. Meanwhile, the server
// still answers: health is NOT_SERVING, and new evaluations are rejected as not run. If it closed connections instead, callers would
// not know that their calls have not run.
func serveUntilDrained(ctx context.Context, s *grpcserver.Server, listener net.Listener, draining *drain, limit time.Duration, log *slog.Logger) error {
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	var drained sync.WaitGroup
	defer drained.Wait()
	drained.Go(func() {
		select {
		case <-serving.Done():
			return
		case <-ctx.Done():
		}
		s.Leave()
		log.Info("shutting down, rejecting new evaluations", "within", limit)
		if !draining.wait(limit - min(closeTime, limit)) {
			log.Warn("drain timeout reached, canceling running evaluations", "drain", limit)
		}
		stop()
	})
	err := s.Serve(serving, listener)
	stop()
	return err
}

// sharedMemory exists in every container and is writable for all users. Its files count as memory of the pod.
const sharedMemory = "/dev/shm"

// scratchRoot returns the first directory in which functions can create temporary directories. An image may contain nothing but the
// function, and pod templates written for Porch add no directory for temporary files.
func scratchRoot(candidates ...string) string {
	for _, root := range candidates {
		dir, err := os.MkdirTemp(root, "krm-function-*")
		if err == nil {
			_ = os.Remove(dir)
			return root
		}
	}
	// The first call returns the error.
	return candidates[0]
}
