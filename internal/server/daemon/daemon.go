// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package daemon is the common part of the servers' main functions.
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

	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/internal/server/logging"
	"github.com/krmfn/krmfn/internal/server/memory"
	"github.com/krmfn/krmfn/internal/server/telemetry"
	"github.com/krmfn/krmfn/internal/server/telemetry/export"
	"github.com/krmfn/krmfn/internal/server/telemetry/export/otlpgrpc"
	"github.com/krmfn/krmfn/internal/server/version"
)

// Settings are the settings that all servers have.
type Settings struct {
	// Name is the command's name.
	Name string
	// Port is the TCP port to listen on, on all interfaces; 0 means any free port.
	Port int
	// LogFormat is "json" or "text". LogLevel is klog's verbosity.
	LogFormat string
	LogLevel  int
	// HeapShare is the part of the container's memory limit that the server's heap may use, above 0 and at most 1. The server's
	// child processes need the rest.
	HeapShare float64
	// Security secures connections and authorises callers.
	Security Security
}

// Environment holds the resources that Run provides to a server.
type Environment struct {
	Listener  net.Listener
	Telemetry *telemetry.Telemetry
	Log       *slog.Logger
	// Guard is the configuration of the gRPC server for Settings.Security.
	Guard grpcserver.Guard
}

// Run runs a server until it returns. The first SIGTERM or interrupt cancels ctx; a second one ends the process at once. After
// an error, the exit code is 1.
func Run(ctx context.Context, s Settings, serve func(ctx context.Context, in Environment) error) {
	if err := run(ctx, s, serve); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", s.Name, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s Settings, serve func(ctx context.Context, in Environment) error) (err error) {
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
	exporters, err := export.New(ctx, "krmfn-"+s.Name, version.Version(), secured.https(), otlpgrpc.Exporters)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, exporters.Shutdown(ctx)) }()
	guard, err := secured.guard(ctx, s.Name, exporters, log)
	if err != nil {
		return err
	}
	return serve(ctx, Environment{Listener: listener, Telemetry: exporters, Log: log, Guard: guard})
}
