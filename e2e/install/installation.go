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

// Installation is an installation of the function runner in this machine's cluster. Methods that change it must not run concurrently.
type Installation struct {
	// Release identifies the Helm release and its namespaces.
	Release Release
	// Client is a client of the cluster without rate limits.
	Client kubernetes.Interface
	// Registry is the address of the cluster's registry, IP:PORT.
	Registry string

	helm    helm
	dynamic dynamic.Interface
	node    string // address of the node for calls to NodePort Services
	tag     string // tag of krmfn's images
	step    Step

	mu        sync.Mutex
	addresses map[string]string // address by name of the NodePort Service
}

// Step prints the description of a long operation, runs do, and returns its error.
type Step func(what string, do func() error) error

// Open connects to the cluster that make cluster created and pins krmfn's images in its registry. It installs nothing. The installation
// uses the release Default.
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

// At returns an installation for another release in the same cluster. It installs nothing.
func (i *Installation) At(r Release) *Installation {
	beside := &Installation{
		Release: r, Client: i.Client, Registry: i.Registry, helm: i.helm, dynamic: i.dynamic, node: i.node, tag: i.tag,
		step: i.step, addresses: map[string]string{},
	}
	beside.helm.release = r
	return beside
}

// unthrottled returns clients without a client-side rate limit, which would delay requests that tests send at once.
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

// Apply installs or upgrades the chart with values that override the defaults for this cluster. It returns when all function runners are
// ready and run with these values.
func (i *Installation) Apply(ctx context.Context, values map[string]any) error {
	return i.step(fmt.Sprintf("apply the chart: %s %v", i.Release.Namespace, slices.Sorted(maps.Keys(values))), func() error {
		if err := i.helm.apply(ctx, MergeValues(i.values(), values)); err != nil {
			return err
		}
		return i.AwaitSettled(ctx)
	})
}

// Adopt installs the chart over existing objects and takes ownership of them, like helm install --take-ownership.
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

// AdoptUnready is like Adopt, but does not wait for a ready function runner. It is for values with which none becomes ready.
func (i *Installation) AdoptUnready(ctx context.Context, values map[string]any) error {
	return i.step("adopt what is there, and do not wait", func() error {
		adopting := i.helm
		adopting.adopt, adopting.impatient = true, true
		return adopting.apply(ctx, MergeValues(i.values(), values))
	})
}

// Rollback restores the previous revision, like helm rollback.
func (i *Installation) Rollback(ctx context.Context) error {
	return i.step("roll the chart back", func() error {
		if err := i.helm.rollback(); err != nil {
			return err
		}
		return i.AwaitSettled(ctx)
	})
}

// Kubeconfig returns the path of the kubeconfig file.
func (i *Installation) Kubeconfig() string { return i.helm.kubeconfig }

// Tag returns the tag of krmfn's images in the cluster's registry.
func (i *Installation) Tag() string { return i.tag }

// Test runs the tests of the chart, like helm test.
func (i *Installation) Test() error { return i.step("helm test", i.helm.test) }

// Remove uninstalls the chart, including all function pods, and waits until the last function runner has ended.
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

// Leave uninstalls the release after another installation has taken over the function runners. It returns when Helm has deleted the
// remaining objects.
func (i *Installation) Leave() error {
	return i.step("uninstall what is left of the chart", i.helm.remove)
}

// ShutdownDelay is the chart's default. Specs that replace function runners under load set it, because the shorter delay of other specs
// ends before all nodes know that a function runner shuts down.
const ShutdownDelay = "5s"

// values returns values that fit a cluster on one small machine, run all functions in pods, and keep nothing after an uninstallation.
func (i *Installation) values() map[string]any {
	return map[string]any{
		"image":             map[string]any{"registry": i.Registry + "/krmfn", "tag": i.tag},
		"replicas":          1,
		"shutdownDelay":     "1s",
		"functionNamespace": map[string]any{"name": i.Release.FunctionNamespace, "keep": false},
		"resources":         map[string]any{"requests": map[string]any{"cpu": "50m", "memory": "64Mi"}},
		"extraArgs":         []any{"--disable-runtimes=exec"},
		"logLevel":          4,
		// The tests call from this machine, and read metrics through the API server, so the policies must allow all sources.
		"networkPolicy": map[string]any{"callers": anybody(), "taskHandlerCallers": anybody(), "metricsReaders": anybody()},
	}
}

// anybody returns NetworkPolicy peers that match all sources.
func anybody() []any {
	return []any{map[string]any{"namespaceSelector": map[string]any{}}, map[string]any{"ipBlock": map[string]any{"cidr": "0.0.0.0/0"}}}
}

// MergeValues returns base with the values of over. Maps are merged, and lists are replaced.
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
