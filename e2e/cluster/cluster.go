// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster creates a kind cluster and a container registry for end-to-end tests.
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

// Name is the name of the cluster. All checkouts on a machine share one cluster.
const Name = "krmfn-e2e"

// Cluster is the cluster of this machine.
type Cluster struct {
	// Kubeconfig is the path of the kubeconfig file for the cluster. The file is not shared with other clusters.
	Kubeconfig string
	// Cache is a directory for files that outlive clusters and checkouts.
	Cache string
	// Registry is the command line that serves the registry, without the flags --address and --dir.
	Registry []string
	// Kubernetes is the version of the cluster. Up deletes a cluster of another version first.
	Kubernetes nodeimage.Version
	Progress   *progress.Printer
}

// Up creates the cluster and its registry, or the parts that are missing. It first deletes a cluster that does not respond or whose
// configuration differs. It waits for other runs on this machine.
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

// Down deletes the cluster and its registry. The Docker engine keeps running.
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

// lock acquires the machine-wide lock on the cluster, and waits for other runs.
func (c Cluster) lock(ctx context.Context) (*flock.Flock, error) {
	if err := os.MkdirAll(c.Cache, 0o755); err != nil {
		return nil, err
	}
	return filelock.Wait(ctx, filepath.Join(c.Cache, "cluster.lock"), func(held *filelock.HeldError) {
		c.Progress.Printf("waiting: %v", held)
	})
}
