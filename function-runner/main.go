// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command function-runner evaluates KRM functions over gRPC. It takes the flags of Porch's function runner and answers to
// the same calls.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/function-runner/runner"
	"github.com/krmfn/krmfn/services/logging"
	"github.com/krmfn/krmfn/services/telemetry"
	"github.com/krmfn/krmfn/services/version"
)

func main() {
	o, err := options.Parse(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Printf("Evaluates KRM functions over gRPC.\n\nUsage: function-runner [flags]\n\nFlags:\n%s", o.Flags().FlagUsages())
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "function-runner: %v\nRun function-runner --help for the flags.\n", err)
		os.Exit(2)
	}
	if err := run(o); err != nil {
		fmt.Fprintf(os.Stderr, "unexpected error: %v\n", err)
		os.Exit(1)
	}
}

func run(o options.Options) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	yieldProcessors()
	ballast := make([]byte, smallHeap)
	defer runtime.KeepAlive(ballast)
	log := logging.New(os.Stderr, o.Log.Format, o.Log.Level)
	slog.SetDefault(log)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(o.Port))
	if err != nil {
		return fmt.Errorf("listen on --port: %w", err)
	}
	exporters, err := telemetry.New(ctx, "krmfn-function-runner", version.Version())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, exporters.Shutdown(ctx)) }()
	r, err := runner.New(ctx, runner.Config{
		Options: o, Environ: os.Environ(), Telemetry: exporters, ReapOrphans: true, Log: log,
	})
	if err != nil {
		return err
	}
	return r.Serve(ctx, listener)
}
