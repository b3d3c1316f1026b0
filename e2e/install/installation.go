// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/krmfn/krmfn/e2e/cluster"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// Installation is the function runner in this machine's cluster. At most one call that changes it may run at a time.
type Installation struct {
	// Release is where it is.
	Release Release
	// Client sees what is in the cluster.
	Client kubernetes.Interface
	// Registry is the address of the cluster's registry, IP:PORT.
	Registry string

	helm    helm
	dynamic dynamic.Interface
	node    string // address of the node that NodePort Services are called at
	tag     string // of krmfn's images
	step    Step

	mu        sync.Mutex
	addresses map[string]string // by name of NodePort Service
}

// Step runs do, which takes long, and tells people what it does. It returns the error of do.
type Step func(what string, do func() error) error

// Open finds the cluster that make cluster has made, and krmfn's images in its registry. Nothing is installed yet, and Default is where
// it will be.
func Open(ctx context.Context, step Step) (*Installation, error) {
	checkout, err := binaries.Root()
	if err != nil {
		return nil, err
	}
	c := cluster.Cluster{Kubeconfig: filepath.Join(checkout, "build", "kubeconfig")}
	i := &Installation{
		Release:   Default,
		helm:      helm{release: Default, kubeconfig: c.Kubeconfig, chart: filepath.Join(checkout, "charts", "krmfn")},
		step:      step,
		addresses: map[string]string{},
	}
	if i.Client, i.dynamic, err = unthrottled(c.Kubeconfig); err != nil {
		return nil, err
	}
	if i.Registry, err = c.RegistryAddress(ctx); err != nil {
		return nil, err
	}
	if i.tag, err = pin(ctx, i.Registry); err != nil {
		return nil, err
	}
	i.node, err = workerAddress(ctx, i.Client)
	return i, err
}

// At returns an installation beside this one, in the same cluster. Nothing is installed there yet.
func (i *Installation) At(r Release) *Installation {
	beside := &Installation{
		Release: r, Client: i.Client, Registry: i.Registry, helm: i.helm, dynamic: i.dynamic, node: i.node, tag: i.tag,
		step: i.step, addresses: map[string]string{},
	}
	beside.helm.release = r
	return beside
}

// unthrottled returns clients that do not hold requests back, which would spread over time what is to happen at once.
func unthrottled(kubeconfig string) (kubernetes.Interface, dynamic.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("client of the cluster: %w: try make cluster", err)
	}
	config.QPS = -1
	return clients(config)
}

func clients(config *rest.Config) (kubernetes.Interface, dynamic.Interface, error) {
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	anything, err := dynamic.NewForConfig(config)
	return typed, anything, err
}

// Apply installs the function runner, or changes what is installed, to values of the chart beside those that fit this
// cluster. It returns when function runners of these values run, and no others.
func (i *Installation) Apply(ctx context.Context, values map[string]any) error {
	return i.step(fmt.Sprintf("apply the chart: %s %v", i.Release.Namespace, slices.Sorted(maps.Keys(values))), func() error {
		if err := i.helm.apply(ctx, MergeValues(i.values(), values)); err != nil {
			return err
		}
		return i.AwaitSettled(ctx)
	})
}

// Adopt installs the chart over objects that are there already, which it takes over, as helm install --take-ownership does.
func (i *Installation) Adopt(ctx context.Context, values map[string]any) error {
	return i.step("adopt what is there", func() error {
		adopting := i.helm
		adopting.adopt = true
		if err := adopting.apply(ctx, MergeValues(i.values(), values)); err != nil {
			return err
		}
		return i.AwaitSettled(ctx)
	})
}

// Rollback goes back to what was installed before, as helm rollback does.
func (i *Installation) Rollback(ctx context.Context) error {
	return i.step("roll the chart back", func() error {
		if err := i.helm.rollback(); err != nil {
			return err
		}
		return i.AwaitSettled(ctx)
	})
}

// Kubeconfig is the file by which clients find the cluster.
func (i *Installation) Kubeconfig() string { return i.helm.kubeconfig }

// Tag is the tag of krmfn's images in the cluster's registry.
func (i *Installation) Tag() string { return i.tag }

// Test runs the chart's own tests, as helm test does.
func (i *Installation) Test() error { return i.step("helm test", i.helm.test) }

// Remove uninstalls the function runner, and with it all function pods, and returns when the last function runner has ended.
func (i *Installation) Remove(ctx context.Context) error {
	return i.step("uninstall the chart: "+i.Release.Namespace, func() error {
		if err := i.deleteNodePorts(ctx); err != nil {
			return err
		}
		if err := i.helm.remove(); err != nil {
			return err
		}
		return i.awaitNoRunners(ctx)
	})
}

// Leave uninstalls the release where its function runners are somebody else's by now, and returns when what is krmfn's is gone.
func (i *Installation) Leave() error {
	return i.step("uninstall what is left of the chart", i.helm.remove)
}

// ShutdownDelay is the chart's default. Specs that replace function runners under load set it: the shorter delay of other specs is over
// before all nodes know that a function runner shuts down.
const ShutdownDelay = "5s"

// values fit a cluster on one small machine, have all functions run in pods, and leave nothing behind.
func (i *Installation) values() map[string]any {
	return map[string]any{
		"image":             map[string]any{"registry": i.Registry + "/krmfn", "tag": i.tag},
		"replicas":          1,
		"shutdownDelay":     "1s",
		"functionNamespace": map[string]any{"name": i.Release.FunctionNamespace, "keep": false},
		"resources":         map[string]any{"requests": map[string]any{"cpu": "50m", "memory": "64Mi"}},
		"extraArgs":         []any{"--disable-runtimes=exec"},
		"logLevel":          4,
		// The tests call from this machine, and read metrics through the API server.
		"networkPolicy": map[string]any{"callers": anybody(), "taskHandlerCallers": anybody(), "metricsReaders": anybody()},
	}
}

// anybody returns peers of a NetworkPolicy that leave out nobody.
func anybody() []any {
	return []any{map[string]any{"namespaceSelector": map[string]any{}}, map[string]any{"ipBlock": map[string]any{"cidr": "0.0.0.0/0"}}}
}

// MergeValues returns the values of both, those of the second where both have them. Lists are values as a whole.
func MergeValues(base, over map[string]any) map[string]any {
	merged := maps.Clone(base)
	for key, value := range over {
		below, isMap := merged[key].(map[string]any)
		if above, ok := value.(map[string]any); ok && isMap {
			value = MergeValues(below, above)
		}
		merged[key] = value
	}
	return merged
}
