// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command image-warmer looks up the images of functions, and pulls them onto nodes, before their first call.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"github.com/krmfn/krmfn/image-warmer/internal/publish"
	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/image-warmer/internal/warmer"
	"github.com/krmfn/krmfn/image-warmer/internal/watch"
	"github.com/krmfn/krmfn/image-warmer/options"
	"github.com/krmfn/krmfn/internal/cluster/connect"
	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/internal/server/logging"
	"github.com/krmfn/krmfn/internal/server/telemetry"
	"github.com/krmfn/krmfn/internal/server/telemetry/export"
	"github.com/krmfn/krmfn/internal/server/version"
)

// Exit codes.
const (
	exitOK = 0
	// exitFailed means that something failed.
	exitFailed = 1
	// exitUsage means that a flag is invalid, so that nothing was done.
	exitUsage = 2
)

// keychain resolves the credentials of cloud registries in binaries with the build tag cloudkeychains. Otherwise it is nil.
var keychain authn.Keychain

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run returns the exit code.
func run(ctx context.Context, args, environ []string, stdout, stderr io.Writer) int {
	o, err := options.Parse(args, environ)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		fmt.Fprint(stdout, flags.Text("Looks up the images of functions, and pulls them onto nodes, before their first call.",
			"image-warmer [flags] [IMAGE...]", new(options.Options).Flags()))
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "image-warmer: %v\nRun image-warmer --help for the flags.\n", err)
		return exitUsage
	}
	log := logging.New(stderr, o.Log.Format, o.Log.Level)
	exporters, err := export.New(ctx, "krmfn-image-warmer", version.Version(), nil, export.GRPC{})
	if err != nil {
		fmt.Fprintf(stderr, "image-warmer: %v\n", err)
		return exitUsage
	}
	defer func() {
		// Lost metrics do not change the exit code.
		if err := exporters.Shutdown(ctx); err != nil {
			log.Warn("metrics were not exported", "err", err)
		}
	}()
	c := command{options: o, telemetry: exporters, stdout: stdout, stderr: stderr, config: warmer.Config{
		Options: o, OwnNamespace: connect.OwnNamespace(), Keychain: keychain, Environ: environ, Stdout: stdout, Log: log,
	}}
	if c.config.Metrics, err = warmer.NewMetrics(exporters.Metrics); err != nil {
		fmt.Fprintf(stderr, "image-warmer: %v\n", err)
		return exitFailed
	}
	// Metadata on standard output must not be mixed with the report.
	if o.Metadata.File == publish.StandardOutput {
		c.stdout = stderr
	}
	if o.NeedsCluster() {
		klog.SetSlogLogger(log)
		if err := connectTo(&c.config, o.Kubeconfig); err != nil {
			fmt.Fprintf(stderr, "image-warmer: %v\n", err)
			return exitFailed
		}
	}
	if o.Policy != "" {
		if c.policy, err = policy.NewStore(o.Policy, nil, log); err != nil {
			fmt.Fprintf(stderr, "image-warmer: %v\n", err)
			return exitUsage
		}
	}
	if o.Watch {
		return c.watch(ctx)
	}
	return c.finish(c.warm(ctx, nil))
}

// command performs runs and writes their reports.
type command struct {
	options        options.Options
	config         warmer.Config
	policy         *policy.Store // nil permits all images
	telemetry      *telemetry.Telemetry
	stdout, stderr io.Writer
}

// warm performs one run for the named nodes, or for all nodes if nodes is nil.
func (c *command) warm(ctx context.Context, nodes []string) *report.Report {
	run := c.config
	run.Run, run.Nodes = strings.ToLower(rand.Text()[:10]), nodes
	if c.policy != nil {
		run.Policy = c.policy.Policy()
	}
	return warmer.Run(ctx, run)
}

// watch performs runs until ctx ends.
func (c *command) watch(ctx context.Context) int {
	o := &c.options
	w := watch.Config{
		Selector: o.Prepull.NodeSelector, Tolerations: o.Prepull.Tolerations, Interval: o.Interval, Log: c.config.Log,
		Warm: func(ctx context.Context, nodes []string) *report.Report {
			if c.policy != nil {
				changed, err := c.policy.Load() // Load logs errors, and keeps the previous policy
				c.telemetry.Reloads.Record("image_policy", changed, err)
			}
			r := c.warm(ctx, nodes)
			c.finish(r)
			return r
		},
		Recovered: func() { c.config.Metrics.Succeeded(ctx) },
	}
	if o.Prepull.Enabled {
		w.Nodes = c.config.Cluster.Nodes
	}
	if err := watch.Run(ctx, w); err != nil {
		fmt.Fprintf(c.stderr, "image-warmer: %v\n", err)
		return exitFailed
	}
	return exitOK
}

// finish writes the report of a run and returns the exit code.
func (c *command) finish(result *report.Report) int {
	write := result.WriteTable
	if c.options.Output == options.OutputJSON {
		write = result.WriteJSON
	}
	if err := write(c.stdout); err != nil {
		fmt.Fprintf(c.stderr, "image-warmer: write the report: %v\n", err)
		return exitFailed
	}
	if len(result.Failures) > 0 {
		return exitFailed
	}
	return exitOK
}

// connectTo sets the cluster of the runs; see connect.Config for kubeconfig.
func connectTo(c *warmer.Config, kubeconfig string) error {
	config, err := connect.Config(kubeconfig, "image-warmer")
	if err != nil {
		return fmt.Errorf("find the cluster (give --kubeconfig, or use --metadata-file and --prepull=false, which need no cluster): %w", err)
	}
	if c.Cluster, err = c.NewCluster(config); err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	return nil
}
