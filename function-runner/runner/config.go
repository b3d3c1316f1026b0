// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package runner puts a function runner together: evaluators, the chain they form, and the gRPC server in front.
package runner

import (
	"context"
	"errors"
	"log/slog"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/function-runner/internal/service"
	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/server/telemetry"
)

// Function is a function with a local executable.
type Executable = exec.Executable

// Telemetry is where metrics and traces go.
type Telemetry = telemetry.Telemetry

// Config is all that a runner needs to know.
type Config struct {
	// Options are the settings.
	Options options.Options
	// Functions are functions with executables beside those of the config file.
	Functions []Executable
	// Environ is what functions may inherit from; they get only what is harmless in it.
	Environ []string
	// Pods is the pod evaluator. It must be there unless pods are disabled.
	Pods Pods
	// Telemetry may be nil for none; where it is not active, nothing is measured.
	Telemetry *Telemetry
	// Processes runs executables; nil for a runner of its own.
	Processes *process.Runner
	// ReapOrphans makes the process collect what its functions leave behind. All its children must be the runner's then.
	ReapOrphans bool
	// Log gets one line for each evaluation, reload and step of the shutdown.
	Log *slog.Logger
}

// Pods evaluates functions in pods of a cluster.
type Pods interface {
	evaluation.Evaluator
	service.Functions
	// Configure has put called with all functions that have executables because objects of the cluster say so, after each
	// change, while Run runs. They count before all others.
	Configure(put func(functions []Executable))
	// Run keeps the pods until ctx ends, and calls ready once calls can be answered. The error is that it cannot.
	Run(ctx context.Context, ready func()) error
}

// NewProcesses returns what runs executables, within the limits that options give.
func NewProcesses(o options.Options) *process.Runner {
	return process.NewRunner(process.Limits{Stdout: int64(o.Limits.MaxMessageSize)}, "")
}

// errNoPods says that this runner has no pod evaluator.
var errNoPods = errors.New("this runner has no pod evaluator, disable it with --disable-runtimes=pod")
