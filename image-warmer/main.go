// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command image-warmer makes the images of functions known and present before they are needed.
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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/krmfn/krmfn/image-warmer/internal/publish"
	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/image-warmer/internal/warmer"
	"github.com/krmfn/krmfn/image-warmer/options"
	"github.com/krmfn/krmfn/services/cluster/connect"
	"github.com/krmfn/krmfn/services/images/policy"
	"github.com/krmfn/krmfn/services/server/logging"
)

// Exit codes.
const (
	exitOK = 0
	// exitFailed says that not all was done that should be.
	exitFailed = 1
	// exitUsage says that flags make no sense, so that nothing was done.
	exitUsage = 2
)

// keychain is that of clouds in binaries with the build tag cloudkeychains, else nil.
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
		fmt.Fprintf(stdout, "Makes the images of functions known to function runners, and present on nodes, before they are needed.\n\n"+
			"Usage: image-warmer [flags] [IMAGE...]\n\nFlags:\n%s", new(options.Options).Flags().FlagUsages())
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "image-warmer: %v\nRun image-warmer --help for the flags.\n", err)
		return exitUsage
	}
	log := logging.New(stderr, o.Log.Format, o.Log.Level)
	config := warmer.Config{
		Options: o, OwnNamespace: connect.OwnNamespace(), Run: strings.ToLower(rand.Text()[:10]), Keychain: keychain, Environ: environ, Stdout: stdout, Log: log,
	}
	if o.NeedsCluster() {
		klog.SetSlogLogger(log)
		if err := addClients(&config, o.Kubeconfig); err != nil {
			fmt.Fprintf(stderr, "image-warmer: %v\n", err)
			return exitFailed
		}
	}
	// Who wants the metadata on standard output wants nothing else there.
	if o.Metadata.File == publish.StandardOutput {
		stdout = stderr
	}
	if o.Policy != "" {
		policy, err := policy.NewStore(o.Policy, log)
		if err != nil {
			fmt.Fprintf(stderr, "image-warmer: %v\n", err)
			return exitUsage
		}
		config.Policy = policy.Policy()
	}
	return finish(warmer.Run(ctx, config), o, stdout, stderr)
}

// addClients has a run work for the cluster that a kubeconfig file names; see connect.Config.
func addClients(c *warmer.Config, kubeconfig string) error {
	config, err := connect.Config(kubeconfig, "image-warmer")
	if err != nil {
		return fmt.Errorf("find the cluster (give --kubeconfig, or do without one by --metadata-file and --prepull=false): %w", err)
	}
	if c.Kubernetes, err = kubernetes.NewForConfig(config); err == nil {
		c.Dynamic, err = dynamic.NewForConfig(config)
	}
	if err != nil {
		return fmt.Errorf("connect to the cluster: %w", err)
	}
	return nil
}

func finish(result *report.Report, o options.Options, stdout, stderr io.Writer) int {
	write := result.WriteTable
	if o.Output == options.OutputJSON {
		write = result.WriteJSON
	}
	if err := write(stdout); err != nil {
		fmt.Fprintf(stderr, "image-warmer: write the report: %v\n", err)
		return exitFailed
	}
	if len(result.Failures) > 0 && !o.IgnoreFailures {
		return exitFailed
	}
	return exitOK
}
