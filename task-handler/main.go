// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command task-handler renders kpt packages over gRPC, for controllers.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/krmfn/krmfn/services/logging"
	"github.com/krmfn/krmfn/services/telemetry"
	"github.com/krmfn/krmfn/services/version"
	"github.com/krmfn/krmfn/task-handler/handler"
	"github.com/krmfn/krmfn/task-handler/options"
)

func main() {
	o, err := options.Parse(os.Args[1:])
	if errors.Is(err, pflag.ErrHelp) {
		fmt.Printf("Renders kpt packages over gRPC.\n\nUsage: task-handler [flags]\n\nFlags:\n%s", o.Flags().FlagUsages())
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "task-handler: %v\nRun task-handler --help for the flags.\n", err)
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
	log := logging.New(os.Stderr, o.LogFormat, o.LogLevel)
	slog.SetDefault(log)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(o.Port))
	if err != nil {
		return fmt.Errorf("listen on --port: %w", err)
	}
	exporters, err := telemetry.New(ctx, "krmfn-task-handler", version.Version())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, exporters.Shutdown(ctx)) }()
	h, err := handler.New(ctx, handler.Config{Options: o, Telemetry: exporters, Log: log})
	if err != nil {
		return err
	}
	return h.Serve(ctx, listener)
}
