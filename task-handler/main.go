// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command task-handler renders kpt packages over gRPC, and handles package revisions, for controllers.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/krmfn/krmfn/internal/server/daemon"
	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/task-handler/options"
)

func main() {
	const name = "task-handler"
	o, err := options.Parse(os.Args[1:])
	flags.Help(name, "Renders kpt packages over gRPC, and handles package revisions.", new(options.Options).Flags(), err)
	settings := daemon.Settings{Name: name, Port: o.Port, LogFormat: o.LogFormat, LogLevel: o.LogLevel, HeapShare: heapShare(o)}
	settings.Security = daemon.Security{TLS: o.TLS, Callers: o.Callers}
	daemon.Run(context.Background(), settings, func(ctx context.Context, in daemon.Environment) error {
		program, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the directory of the task handler, where the executable of functions is: %w", err)
		}
		h, err := newHandler(ctx, config{
			Options: o, Telemetry: in.Telemetry, Guard: in.Guard, Log: in.Log, Functions: filepath.Join(filepath.Dir(program), "functions"),
		})
		if err != nil {
			return err
		}
		return h.serve(ctx, in.Listener)
	})
}
