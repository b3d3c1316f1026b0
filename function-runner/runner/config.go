// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package runner puts a function runner together: evaluators, the chain they form, and the gRPC server in front.
package runner

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/services/telemetry"
)

// Function is a function with a local executable.
type Function = exec.Function

// Telemetry is where metrics and traces go.
type Telemetry = telemetry.Telemetry

// Config is all that a runner needs to know.
type Config struct {
	// Options are the settings.
	Options options.Options
	// Functions are functions with executables beside those of the config file.
	Functions []Function
	// Environ is what functions may inherit from; they get only what is harmless in it.
	Environ []string
	// Telemetry may be nil for none; where it is not active, nothing is measured.
	Telemetry *Telemetry
	// ReapOrphans makes the process collect what its functions leave behind. All its children must be the runner's then.
	ReapOrphans bool
	// Log gets one line for each evaluation, reload and step of the shutdown.
	Log *slog.Logger
}

// wrapperImageVariable names the image of the wrapper server, which function pods are made with.
const wrapperImageVariable = "WRAPPER_SERVER_IMAGE"

// errNoPods says that this build has no pod evaluator.
var errNoPods = errors.New("this build has no pod evaluator, disable it with --disable-runtimes=pod")

// checkPods tells why the pod evaluator cannot be had, or nil when it is not asked for.
func (c *Config) checkPods(wrapperImage string) error {
	switch {
	case !c.Options.Enabled(options.RuntimePod):
		return nil
	case wrapperImage == "":
		return fmt.Errorf("the environment variable %s must name the wrapper server's image, or pods be disabled with --disable-runtimes=pod",
			wrapperImageVariable)
	default:
		return errNoPods
	}
}
