// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package connect finds the Kubernetes cluster that a process uses.
package connect

import (
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/krmfn/krmfn/internal/server/version"
)

// qps and burst limit the requests per second. Porch's function runner has the same values.
const qps, burst = 30, 45

// Config returns the client configuration of the cluster in a kubeconfig file. Without a file, it tries KUBECONFIG, the cluster
// that this process runs in, and ~/.kube/config. component is part of the user agent, such as "pod-janitor". Config sends no
// request.
func Config(kubeconfig, component string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = max(config.QPS, qps), max(config.Burst, burst)
	config.UserAgent = "krmfn-" + component + "/" + version.Version()
	// Typed clients use protobuf, whose objects are smaller. Dynamic clients override this with JSON.
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	return config, nil
}

// OwnNamespace returns the namespace of this process, or porch-system outside a cluster.
func OwnNamespace() string {
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name
	}
	return "porch-system"
}
