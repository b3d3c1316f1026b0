// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package daemon is what the main functions of servers have in common.
package daemon

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

	"github.com/krmfn/krmfn/services/server/grpcserver"
	"github.com/krmfn/krmfn/services/server/logging"
	"github.com/krmfn/krmfn/services/server/memory"
	"github.com/krmfn/krmfn/services/server/telemetry"
	"github.com/krmfn/krmfn/services/server/telemetry/export"
	"github.com/krmfn/krmfn/services/server/version"
)

// Settings are those that every server has.
type Settings struct {
	// Name is the name of the command.
	Name string
	// Port is the TCP port to listen on, on all interfaces; 0 lets the system choose.
	Port int
	// LogFormat is json or text, LogLevel klog's verbosity.
	LogFormat string
	LogLevel  int
	// HeapShare is the share of its container's memory limit that the server may use as heap, above 0 and at most 1. Child
	// processes of the server need the rest.
	HeapShare float64
	// Security is how connections are secured, and who may call.
	Security Security
}

// Surroundings are what a server gets to run in.
type Surroundings struct {
	Listener  net.Listener
	Telemetry *telemetry.Telemetry
	Log       *slog.Logger
	// Guard is what the gRPC server owes to the settings' security.
	Guard grpcserver.Guard
}

// Run runs a server until it ends, which the first SIGTERM or interrupt tells it to by the end of ctx; a second one ends the
// process at once. The exit code is 1 after an error.
func Run(ctx context.Context, s Settings, serve func(ctx context.Context, in Surroundings) error) {
	if err := run(ctx, s, serve); err != nil {
		fmt.Fprintf(os.Stderr, "unexpected error: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s Settings, serve func(ctx context.Context, in Surroundings) error) (err error) {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	stderr := logging.NewWriter(os.Stderr)
	defer stderr.Close()
	log := logging.New(stderr, s.LogFormat, s.LogLevel)
	slog.SetDefault(log)
	memory.LimitHeap(s.HeapShare, os.Getenv)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", ":"+strconv.Itoa(s.Port))
	if err != nil {
		return fmt.Errorf("listen on --port: %w", err)
	}
	secured, err := s.Security.load(log)
	if err != nil {
		return err
	}
	exporters, err := export.New(ctx, "krmfn-"+s.Name, version.Version(), secured.https())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, exporters.Shutdown(ctx)) }()
	guard, err := secured.guard(ctx, s.Name, exporters, log)
	if err != nil {
		return err
	}
	return serve(ctx, Surroundings{Listener: listener, Telemetry: exporters, Log: log, Guard: guard})
}
