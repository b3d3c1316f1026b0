// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"sigs.k8s.io/kind/pkg/cluster"

	"github.com/krmfn/krmfn/e2e/offline/nodeimage"
	"github.com/krmfn/krmfn/e2e/offline/podnetwork"
)

// settling is how long a new cluster may take until its nodes and its DNS are ready.
const settling = 3 * time.Minute

// create makes the cluster, up to nodes that have registered.
func (c Cluster) create(ctx context.Context, provider *cluster.Provider) error {
	images := nodeimage.Provider{Cache: filepath.Join(c.Cache, "node"), Progress: c.Progress}
	image, err := images.Ensure(ctx)
	if err != nil {
		return err
	}
	text, err := config(image)
	if err != nil {
		return err
	}
	return c.Progress.Step("make cluster "+Name+" of "+image, func() error {
		return provider.Create(Name,
			cluster.CreateWithRawConfig(text),
			cluster.CreateWithKubeconfigPath(c.Kubeconfig),
			cluster.CreateWithDisplayUsage(false),
			cluster.CreateWithDisplaySalutation(false),
		)
	})
}

// finish does what kind leaves open. All of it may be done again.
func (c Cluster) finish(ctx context.Context, provider *cluster.Provider) error {
	client, err := c.Client()
	if err != nil {
		return err
	}
	nodes, err := provider.ListInternalNodes(Name)
	if err != nil {
		return err
	}
	image, err := imageOf(ctx, nodes)
	if err != nil {
		return err
	}
	if nodeimage.IsBuilt(image) {
		if err := podnetwork.Connect(ctx, client, nodes, podRange); err != nil {
			return err
		}
	}
	address, err := c.ensureRegistry(ctx, nodes)
	if err != nil {
		return err
	}
	err = eventually(ctx, settling, func(ctx context.Context) error { return ready(ctx, client, len(nodes)) })
	if err != nil {
		return fmt.Errorf("cluster %s does not become ready: %w", Name, err)
	}
	if err := announce(ctx, client, address, image); err != nil {
		return err
	}
	c.Progress.Printf("cluster %s is ready: KUBECONFIG=%s, registry %s", Name, c.Kubeconfig, address)
	return nil
}
