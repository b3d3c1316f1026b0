// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/e2e/offline/nodeimage"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	const built = `apiVersion: kind.x-k8s.io/v1alpha4
kind: Cluster
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  failCgroupV1: false
  maxPods: 250
networking:
  disableDefaultCNI: true
  podSubnet: 10.244.0.0/16
  serviceSubnet: 10.96.0.0/16
nodes:
- image: krmfn/kind-node:v1
  role: control-plane
- image: krmfn/kind-node:v1
  role: worker
`
	const published = `apiVersion: kind.x-k8s.io/v1alpha4
kind: Cluster
kubeadmConfigPatches:
- |
  kind: KubeletConfiguration
  failCgroupV1: false
  maxPods: 250
networking:
  podSubnet: 10.244.0.0/16
  serviceSubnet: 10.96.0.0/16
nodes:
- image: docker.io/kindest/node:v1.36.3
  role: control-plane
- image: docker.io/kindest/node:v1.36.3
  role: worker
`
	for image, want := range map[string]string{nodeimage.Repository + ":v1": built, nodeimage.Newest.Published(): published} {
		got, err := config(image)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("config(%s) (-want +got):\n%s", image, diff)
		}
	}
	if digest([]byte(built)) == digest([]byte(published)) {
		t.Error("digest() of two configurations is the same")
	}
}
