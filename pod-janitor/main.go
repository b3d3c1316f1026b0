// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command pod-janitor deletes the function pods, Services and pull secrets that no function runner needs any more. It lists the objects of
// the function pods' namespace, decides which to delete, deletes them, and reports the result.
//
// It needs permission to list and delete pods and Services there, to get and delete the pull secret, and to create events in its own
// namespace. Some flags need more in the namespaces that they name: --stop-deployment needs permission to get and scale the Deployments and
// to list pods, and --await-pods to list pods.
package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/internal/server/logging"
	"github.com/krmfn/krmfn/internal/server/telemetry/export"
	"github.com/krmfn/krmfn/internal/server/version"
	"github.com/krmfn/krmfn/pod-janitor/options"
)

const name = "pod-janitor"

func main() {
	o, err := options.Parse(os.Args[1:])
	flags.Help(name, "Deletes the function pods that no function runner needs any more.", new(options.Options).Flags(), err)
	log := logging.New(os.Stderr, o.LogFormat, o.LogLevel)
	slog.SetDefault(log)
	if err := run(context.Background(), o, log); err != nil {
		log.Error("the sweep failed", "err", err)
		os.Exit(1)
	}
}

// run sweeps until it is done, or until SIGTERM or an interrupt. A second signal ends the process at once.
func run(ctx context.Context, o options.Options, log *slog.Logger) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	exporters, err := export.New(ctx, "krmfn-"+name, version.Version(), nil, export.GRPC{})
	if err != nil {
		return err
	}
	defer func() {
		// The sweep has succeeded even if its metrics are lost.
		if err := exporters.Shutdown(ctx); err != nil {
			log.Warn("the metrics are lost", "err", err)
		}
	}()
	metrics, err := newMetrics(exporters.Metrics)
	if err != nil {
		return err
	}
	config := Config{Options: o, Self: selfFromEnvironment(), Metrics: metrics, Out: os.Stdout, Log: log}
	if err := config.Connect(); err != nil {
		return err
	}
	return newJanitor(config).Run(ctx)
}
