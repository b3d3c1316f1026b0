// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/offline/nodeimage"
)

// podRange is what the pods' addresses are from.
const podRange = "10.244.0.0/16"

// kubelet settings: nodes run on hosts with cgroup v1 too, which Kubernetes refuses by default.
const kubelet = `kind: KubeletConfiguration
failCgroupV1: false
`

// config returns kind's configuration: a control plane and a worker of a node image. The images that are built here come
// without kind's network plugin; see package podnetwork.
func config(image string) ([]byte, error) {
	text, err := yaml.Marshal(v1alpha4.Cluster{
		TypeMeta: v1alpha4.TypeMeta{Kind: "Cluster", APIVersion: "kind.x-k8s.io/v1alpha4"},
		Nodes: []v1alpha4.Node{
			{Role: v1alpha4.ControlPlaneRole, Image: image},
			{Role: v1alpha4.WorkerRole, Image: image},
		},
		Networking:           v1alpha4.Networking{PodSubnet: podRange, DisableDefaultCNI: nodeimage.IsBuilt(image)},
		KubeadmConfigPatches: []string{kubelet},
	})
	if err != nil {
		return nil, fmt.Errorf("kind's configuration: %w", err)
	}
	return text, nil
}

// digest identifies a configuration on a cluster that was made by it.
func digest(config []byte) string {
	sum := sha256.Sum256(config)
	return hex.EncodeToString(sum[:])[:12]
}
