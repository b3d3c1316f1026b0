// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command cluster manages the Kubernetes cluster for end-to-end tests. It creates the cluster and a container registry, pushes images into
// the registry, and deletes both.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/e2e/cluster"
	"github.com/krmfn/krmfn/e2e/offline/nodeimage"
	"github.com/krmfn/krmfn/e2e/previous"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/progress"
	"github.com/krmfn/krmfn/e2e/registry"
	"github.com/krmfn/krmfn/e2e/registry/publish"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)
	err := root().ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func root() *cobra.Command {
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "The Kubernetes cluster for end-to-end tests",
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	kubeconfig := root.PersistentFlags().String("kubeconfig", "", "file by which clients find the cluster (default build/kubeconfig of the checkout)")
	run := func(do func(*cobra.Command, cluster.Cluster) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			c, err := configured(*kubeconfig)
			if err != nil {
				return err
			}
			return do(cmd, c)
		}
	}
	root.AddCommand(up(run), &cobra.Command{
		Use:   "down",
		Short: "Delete the cluster and its registry",
		Args:  cobra.NoArgs,
		RunE:  run(func(cmd *cobra.Command, c cluster.Cluster) error { return c.Down(cmd.Context()) }),
	}, &cobra.Command{
		Use:   "registry-address",
		Short: "Print the address of the cluster's registry, as IP:PORT",
		Args:  cobra.NoArgs,
		RunE: run(func(cmd *cobra.Command, c cluster.Cluster) error {
			address, err := c.RegistryAddress(cmd.Context())
			if err == nil {
				_, err = fmt.Fprintln(cmd.OutOrStdout(), address)
			}
			return err
		}),
	}, load(run), buildPrevious(), serveRegistry())
	return root
}

func up(run func(func(*cobra.Command, cluster.Cluster) error) func(*cobra.Command, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Make the cluster and its registry, or what is missing of them",
		Args:  cobra.NoArgs,
	}
	minor := cmd.Flags().String("kubernetes", "", "minor version of Kubernetes, for example 1.34; empty means the newest that tests know")
	cmd.RunE = run(func(cmd *cobra.Command, c cluster.Cluster) (err error) {
		if c.Kubernetes, err = nodeimage.Find(*minor); err != nil {
			return fmt.Errorf("--kubernetes: %w", err)
		}
		return c.Up(cmd.Context())
	})
	return cmd
}

// configured returns the cluster of this machine. The default kubeconfig and the test binaries come from the checkout of this program.
func configured(kubeconfig string) (cluster.Cluster, error) {
	checkout, err := binaries.Root()
	if err != nil {
		return cluster.Cluster{}, err
	}
	if kubeconfig == "" {
		kubeconfig = filepath.Join(checkout, "build", "kubeconfig")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return cluster.Cluster{}, fmt.Errorf("user cache directory: %w", err)
	}
	executable, err := os.Executable()
	if err != nil {
		return cluster.Cluster{}, err
	}
	return cluster.Cluster{
		Kubeconfig: kubeconfig,
		Cache:      filepath.Join(cache, "krmfn"),
		Registry:   []string{executable, registryCommand},
		Progress:   progress.New(os.Stdout),
	}, nil
}

func load(run func(func(*cobra.Command, cluster.Cluster) error) func(*cobra.Command, []string) error) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Push images into the cluster's registry and list them",
		Long: `load pushes krmfn's images, from the layouts that make images writes, as
REGISTRY/krmfn/NAME under their version and the tag e2e; and an image for each
curated function, from the commands that make build writes, as REGISTRY/NAME
under the function's own tags.`,
		Args: cobra.NoArgs,
	}
	layouts := cmd.Flags().String("images", "build/images", "directory of image layouts")
	bin := cmd.Flags().String("functions", "bin", "directory of the functions' commands")
	cmd.RunE = run(func(cmd *cobra.Command, c cluster.Cluster) error {
		address, err := c.RegistryAddress(cmd.Context())
		if err != nil {
			return err
		}
		images, err := publish.Layouts(cmd.Context(), *layouts, address+"/krmfn")
		if err != nil {
			return err
		}
		functions, err := publish.Functions(cmd.Context(), *bin, address)
		if err != nil {
			return err
		}
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		for _, image := range slices.Concat(images, functions) {
			fmt.Fprintf(table, "%s\t%s\n", image.Reference, image.Digest)
		}
		return table.Flush()
	})
	return cmd
}

func buildPrevious() *cobra.Command {
	return &cobra.Command{
		Use:   "previous",
		Short: "Build the chart and the images of the release that end-to-end tests upgrade from, unless they are there",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			checkout, err := binaries.Root()
			if err != nil {
				return err
			}
			builder, err := previous.New(checkout, progress.New(os.Stderr))
			if err != nil {
				return err
			}
			r, err := builder.Ensure(cmd.Context())
			if err == nil {
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "chart   %s\nimages  %s, tag %s\n", r.Chart, r.Images, r.Tag)
			}
			return err
		},
	}
}

// registryCommand is the subcommand that up starts in the background.
const registryCommand = "registry"

func serveRegistry() *cobra.Command {
	cmd := &cobra.Command{
		Use:    registryCommand,
		Short:  "Serve a container registry, until it is ended",
		Hidden: true,
		Args:   cobra.NoArgs,
	}
	address := cmd.Flags().String("address", "", "IP:PORT to listen at")
	dir := cmd.Flags().String("dir", "", "directory for blobs")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var config net.ListenConfig
		listener, err := config.Listen(cmd.Context(), "tcp", *address)
		if err != nil {
			return err
		}
		return registry.Serve(cmd.Context(), listener, *dir)
	}
	return cmd
}
