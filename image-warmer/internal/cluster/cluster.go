// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster finds the cluster that images are warmed for.
package cluster

import (
	"fmt"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/krmfn/krmfn/services/server/version"
)

// qps and burst are how many requests the API server gets in a second.
const qps, burst = 30, 45

// Clients are the ways to the API server.
type Clients struct {
	Kubernetes kubernetes.Interface
	Dynamic    dynamic.Interface
}

// Connect returns clients of the cluster that a kubeconfig file names; without one, that of KUBECONFIG, the cluster that this
// runs in, or that of ~/.kube/config. Nothing is asked yet.
func Connect(kubeconfig string) (*Clients, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster (give --kubeconfig, or do without one by --metadata-file and --prepull=false): %w", err)
	}
	config.QPS, config.Burst = max(config.QPS, qps), max(config.Burst, burst)
	config.UserAgent = "krmfn-image-warmer/" + version.Version()
	clients := &Clients{}
	if clients.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	typed := rest.CopyConfig(config)
	typed.ContentType, typed.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	if clients.Kubernetes, err = kubernetes.NewForConfig(typed); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	return clients, nil
}

// OwnNamespace returns the namespace that this process runs in; Porch's where it runs in none.
func OwnNamespace() string {
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name
	}
	return "porch-system"
}
