// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/krmfn/krmfn/services/server/version"
)

// qps and burst are how many requests the API server gets in a second, as many as from Porch's function runner.
const qps, burst = 30, 45

// connect returns a client of the cluster that a kubeconfig file names, and what other clients of it are made of; without one,
// that of KUBECONFIG, the cluster that this runs in, or that of ~/.kube/config.
func connect(kubeconfig string) (*rest.Config, kubernetes.Interface, error) {
	config, err := clientConfig(kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("find the cluster for the function pods (give --kubeconfig, or --disable-runtimes=pod to do without): %w", err)
	}
	config.QPS, config.Burst = max(config.QPS, qps), max(config.Burst, burst)
	config.UserAgent = "krmfn-function-runner/" + version.Version()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	client, err := kubernetes.NewForConfig(config)
	return config, client, err
}

func clientConfig(kubeconfig string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
}
