// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net"

	"github.com/spf13/cobra"

	"github.com/krmfn/krmfn/e2e/registry"
)

// registryCommand is what up starts in the background.
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
