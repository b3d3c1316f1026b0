// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package server is the gRPC server in a function pod: it runs the pod's one function for each call.
package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/grpcserver"
	"github.com/krmfn/krmfn/services/logging"
	"github.com/krmfn/krmfn/services/process"
)

// waitingPerRunning is how many calls may wait for each that may run.
const waitingPerRunning = 10

// Run serves with the flags and the function's command in args until ctx ends, and then finishes running calls. The
// function gets environ, without what is there for this server. The log goes to stderr.
func Run(ctx context.Context, args, environ []string, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	log := logging.New(stderr, logging.JSON, o.verbosity)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(o.port))
	if err != nil {
		return fmt.Errorf("listen on --port: %w", err)
	}
	return serve(ctx, listener, o, environ, log)
}

func serve(ctx context.Context, listener net.Listener, o options, environ []string, log *slog.Logger) error {
	runner := process.NewRunner(process.Limits{Stdout: int64(o.maxMessageSize)}, "")
	defer runner.Close()
	reaped := make(chan struct{})
	go func() {
		defer close(reaped)
		if err := runner.Reap(ctx); err != nil {
			log.Warn("orphaned processes are not collected", "err", err)
		}
	}()
	function := &process.Function{
		Runner:         runner,
		Command:        process.Command{Argv: o.command, Env: process.ImageEnvironment(environ)},
		Evaluator:      evaluationv1.Evaluator_EVALUATOR_POD,
		Implementation: o.command[0],
	}
	evaluator := evaluation.WithLog(evaluation.NewGate(o.maxConcurrent, waitingPerRunning*o.maxConcurrent).Limit(function), log)

	s := grpcserver.New(ctx, grpcserver.Options{MaxMessageSize: o.maxMessageSize, Drain: o.drain, Logger: log})
	evaluatorgrpc.RegisterFunctionEvaluatorServer(s, &porchService{evaluator: evaluator})
	wrapperv1grpc.RegisterFunctionServiceServer(s, &functionService{evaluator: evaluator})
	s.SetServing(true)
	log.Info("serving", "address", listener.Addr().String(), "command", o.command[0])
	err := s.Serve(ctx, listener)
	<-reaped
	return err
}
