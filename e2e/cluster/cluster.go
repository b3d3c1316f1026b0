// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster makes a Kubernetes cluster for end-to-end tests with kind, and a container registry beside it.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/gofrs/flock"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cmd"

	"github.com/krmfn/krmfn/e2e/offline/engine"
	"github.com/krmfn/krmfn/e2e/offline/nodeimage"
	"github.com/krmfn/krmfn/e2e/programs/filelock"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

// Name is the cluster's name. A machine has one, whichever checkout made it.
const Name = "krmfn-e2e"

// Cluster is the cluster of this machine.
type Cluster struct {
	// Kubeconfig is the file by which clients find the cluster. Nothing else is written to it.
	Kubeconfig string
	// Cache is a directory for what outlives clusters and checkouts.
	Cache string
	// Registry is a command line that serves the registry, but for the flags --address and --dir.
	Registry []string
	// Kubernetes is the version that Up makes a cluster of. A cluster of another one is deleted first.
	Kubernetes nodeimage.Version
	Progress   *progress.Printer
}

// Up makes the cluster and its registry, or what is missing of them. A cluster that does not answer, or that was made
// another way than it would be made now, is deleted first. Another run on this machine is waited for.
func (c Cluster) Up(ctx context.Context) (err error) {
	lock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	starter := engine.Starter{Cache: filepath.Join(c.Cache, "engine"), Progress: c.Progress}
	if err := starter.Ensure(ctx); err != nil {
		return err
	}
	provider := provider()
	if err := c.deleteUnhealthy(ctx, provider); err != nil {
		return err
	}
	existing, err := provider.List()
	if err != nil {
		return err
	}
	if slices.Contains(existing, Name) {
		if err := provider.ExportKubeConfig(Name, c.Kubeconfig, false); err != nil {
			return err
		}
		c.Progress.Printf("cluster %s is healthy", Name)
	} else if err := c.create(ctx, provider); err != nil {
		return err
	}
	return c.finish(ctx, provider)
}

// Down deletes the cluster and its registry. The engine stays.
func (c Cluster) Down(ctx context.Context) (err error) {
	lock, err := c.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := c.registry("").Stop(ctx); err != nil {
		return err
	}
	if err := os.RemoveAll(c.registry("").Dir); err != nil {
		return err
	}
	if engine.Answers(ctx) != nil {
		c.Progress.Printf("no Docker engine answers: if cluster %s is in one, it stays there until the next make cluster", Name)
		return nil
	}
	if err := provider().Delete(Name, c.Kubeconfig); err != nil {
		return fmt.Errorf("delete cluster %s: %w", Name, err)
	}
	if err := os.Remove(c.Kubeconfig); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	c.Progress.Printf("cluster %s and its registry are gone", Name)
	return nil
}

func provider() *cluster.Provider {
	return cluster.NewProvider(cluster.ProviderWithDocker(), cluster.ProviderWithLogger(cmd.NewLogger()))
}

// lock has one run at a time work on the machine's cluster.
func (c Cluster) lock(ctx context.Context) (*flock.Flock, error) {
	if err := os.MkdirAll(c.Cache, 0o755); err != nil {
		return nil, err
	}
	return filelock.Wait(ctx, filepath.Join(c.Cache, "cluster.lock"), func(held *filelock.HeldError) {
		c.Progress.Printf("waiting: %v", held)
	})
}
