// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package connect finds the cluster that a process works for.
package connect

import (
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/krmfn/krmfn/services/server/version"
)

// qps and burst limit the requests per second, with the values of Porch's function runner.
const qps, burst = 30, 45

// Config returns the client configuration of the cluster that a kubeconfig file names. Without a file, it is the cluster of
// KUBECONFIG, the one that this process runs in, or that of ~/.kube/config. The component names the client to the API server,
// such as "pod-janitor". Config sends no request.
func Config(kubeconfig, component string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = max(config.QPS, qps), max(config.Burst, burst)
	config.UserAgent = "krmfn-" + component + "/" + version.Version()
	// Typed clients take protobuf, whose objects are smaller; dynamic clients replace this by JSON.
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	return config, nil
}

// OwnNamespace returns the namespace that this process runs in, or porch-system outside of a cluster.
func OwnNamespace() string {
	text, err := os.ReadFile("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
	if name := strings.TrimSpace(string(text)); err == nil && name != "" {
		return name
	}
	return "porch-system"
}
