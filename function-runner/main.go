// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command function-runner evaluates KRM functions over gRPC. It accepts the flags and serves the gRPC service of Porch's function runner.
package main

import (
	"context"
	"os"

	"github.com/google/go-containerregistry/pkg/authn"

	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/function-runner/pods"
	"github.com/krmfn/krmfn/function-runner/runner"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/server/daemon"
	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/internal/server/memory"
)

// keychain has the credentials of cloud registries in binaries with the build tag cloudkeychains. Otherwise it is nil.
var keychain authn.Keychain

func main() {
	process.RelaxTimers()
	const name = "function-runner"
	o, err := options.Parse(os.Args[1:])
	flags.Help(name, "Evaluates KRM functions over gRPC.", new(options.Options).Flags(), err)
	process.YieldProcessors()
	settings := daemon.Settings{Name: name, Port: o.Port, LogFormat: o.Log.Format, LogLevel: o.Log.Level, HeapShare: runner.HeapShare}
	settings.Security = daemon.Security{TLS: o.TLS, Callers: o.Callers, Kubeconfig: o.Pod.Kubeconfig}
	daemon.Run(context.Background(), settings, func(ctx context.Context, in daemon.Environment) error {
		config := runner.Config{Options: o, Environ: os.Environ(), Telemetry: in.Telemetry, ReapOrphans: true, Guard: in.Guard, Log: in.Log}
		config.Memory = memory.Divide(runner.HeapShare)
		config.Processes = runner.NewProcesses(o, config.Memory.Executables, in.Log)
		if config.Memo, err = runner.NewMemo(o, in.Telemetry.Metrics); err != nil {
			return err
		}
		if o.Enabled(options.RuntimePod) {
			p, err := pods.New(ctx, pods.Config{
				Options: o, Environ: os.Environ(), Keychain: keychain, Processes: config.Processes, Memo: config.Memo, Telemetry: in.Telemetry, Log: in.Log,
			})
			if err != nil {
				return err
			}
			config.Pods, config.Last = p, p.Last
		}
		r, err := runner.New(ctx, config)
		if err != nil {
			return err
		}
		return r.Serve(ctx, in.Listener)
	})
}
