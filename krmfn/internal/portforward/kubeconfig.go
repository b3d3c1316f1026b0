// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package portforward

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// errNoKubeconfig says that no file tells of a cluster.
var errNoKubeconfig = errors.New("there is no kubeconfig: set $KUBECONFIG, or write ~/.kube/config")

// Kubeconfig says where the kubeconfig is.
type Kubeconfig struct {
	// Files are paths, as $KUBECONFIG has them. Empty means ~/.kube/config, else the service account of the pod that this process
	// runs in.
	Files string
	// Home is the user's home directory; empty means that of the process.
	Home string
}

// configure returns the client configuration of a context, and the context's name. It sends no request.
func (k Kubeconfig) configure(name string) (*rest.Config, string, error) {
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: []string{clientcmd.RecommendedHomeFile}}
	switch {
	case k.Files != "":
		rules.Precedence = filepath.SplitList(k.Files)
	case k.Home != "":
		rules.Precedence = []string{filepath.Join(k.Home, clientcmd.RecommendedHomeDir, clientcmd.RecommendedFileName)}
	}
	deferred := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: name})
	raw, err := deferred.RawConfig()
	if err != nil {
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	if name != "" && raw.Contexts[name] == nil {
		if len(raw.Contexts) == 0 {
			return nil, "", errNoKubeconfig
		}
		return nil, "", fmt.Errorf("the kubeconfig has no context %q: see kubectl config get-contexts", name)
	}
	config, err := deferred.ClientConfig()
	switch {
	case clientcmd.IsEmptyConfig(err) && name+raw.CurrentContext != "":
		return nil, "", fmt.Errorf("context %q of the kubeconfig has no cluster", cmp.Or(name, raw.CurrentContext))
	case clientcmd.IsEmptyConfig(err) && len(raw.Contexts) > 0:
		return nil, "", errors.New("the kubeconfig has no current context: name one, as in CONTEXT/NAMESPACE/SERVICE")
	case clientcmd.IsEmptyConfig(err):
		return nil, "", errNoKubeconfig
	case err != nil:
		return nil, "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	config.UserAgent = "krmfn"
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	utilruntime.Must(discoveryv1.AddToScheme(scheme))
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.WarningHandler = rest.NoWarnings{}
	return config, cmp.Or(name, raw.CurrentContext), nil
}
