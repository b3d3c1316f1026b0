// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/krmfn/krmfn/services/server/version"
)

// Connect adds the clients to a Config: of the cluster that a kubeconfig file names; without one, of that of KUBECONFIG, the
// cluster that this runs in, or that of ~/.kube/config.
func Connect(c Config, kubeconfig string) (Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return c, fmt.Errorf("find the cluster (give --kubeconfig): %w", err)
	}
	// Deletions have a bound of their own, and there are few other requests.
	config.QPS = -1
	config.UserAgent = "krmfn-pod-janitor/" + version.Version()
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf+","+runtime.ContentTypeJSON
	if c.Client, err = kubernetes.NewForConfig(config); err != nil {
		return c, fmt.Errorf("make a client of the cluster: %w", err)
	}
	if c.Metadata, err = metadata.NewForConfig(config); err != nil {
		return c, fmt.Errorf("make a client of the cluster: %w", err)
	}
	return c, nil
}
