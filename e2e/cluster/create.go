// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"time"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/offline/nodeimage"
)

// settleTimeout is the time limit for the nodes and the DNS of a new cluster to become ready.
const settleTimeout = 3 * time.Minute

// create creates the cluster with kind. It returns when the nodes are registered.
func (c Cluster) create(ctx context.Context, provider *cluster.Provider) error {
	images := nodeimage.Provider{Cache: filepath.Join(c.Cache, "node"), Kubernetes: c.Kubernetes, Progress: c.Progress}
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

// finish completes the setup that kind does not do: pod network, registry and readiness. It is idempotent.
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
		if err := connectPods(ctx, client, nodes, ranges); err != nil {
			return err
		}
	}
	address, err := c.ensureRegistry(ctx, nodes)
	if err != nil {
		return err
	}
	err = eventually(ctx, settleTimeout, func(ctx context.Context) error { return ready(ctx, client, len(nodes)) })
	if err != nil {
		return fmt.Errorf("cluster %s does not become ready: %w", Name, err)
	}
	if err := announce(ctx, client, address, image); err != nil {
		return err
	}
	c.Progress.Printf("cluster %s is ready: KUBECONFIG=%s, registry %s", Name, c.Kubeconfig, address)
	return nil
}

// ranges holds the address ranges of pods and of Services.
var ranges = addressRanges{pods: "10.244.0.0/16", services: "10.96.0.0/16"}

// kubelet holds kubelet settings. Nodes also run on hosts with cgroup v1, which Kubernetes rejects by default. The maximum number of pods
// is the number of addresses, so that tests can measure function runners with hundreds of pods.
const kubelet = `kind: KubeletConfiguration
failCgroupV1: false
maxPods: 250
`

// config returns the kind configuration: a control plane and a worker of a node image. Locally built images do not contain kind's network
// plugin; see connectPods.
func config(image string) ([]byte, error) {
	text, err := yaml.Marshal(v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Nodes: []v1alpha4.Node{
			{Role: v1alpha4.ControlPlaneRole, Image: image},
			{Role: v1alpha4.WorkerRole, Image: image},
		},
		Networking:           v1alpha4.Networking{PodSubnet: ranges.pods, ServiceSubnet: ranges.services, DisableDefaultCNI: nodeimage.IsBuilt(image)},
		KubeadmConfigPatches: []string{kubelet},
	})
	if err != nil {
		return nil, fmt.Errorf("kind's configuration: %w", err)
	}
	return text, nil
}

// digest returns an ID of the configuration that a cluster was created with.
func digest(config []byte) string {
	sum := sha256.Sum256(config)
	return hex.EncodeToString(sum[:])[:12]
}
