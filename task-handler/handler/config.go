// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package handler puts a task handler together: the runtimes that evaluate functions, the renderer on top of them, and the
// gRPC server in front.
package handler

import (
	"log/slog"

	"github.com/krmfn/krmfn/services/server/telemetry"
	"github.com/krmfn/krmfn/task-handler/options"
)

// Config is all that a task handler needs to know.
type Config struct {
	// Options are the settings.
	Options options.Options
	// Telemetry may be nil for none; where it is not active, nothing is measured.
	Telemetry *telemetry.Telemetry
	// Log gets one line for each render and step of the shutdown.
	Log *slog.Logger
}
