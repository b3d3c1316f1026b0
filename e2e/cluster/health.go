// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/kind/pkg/cluster"
	"sigs.k8s.io/kind/pkg/cluster/nodes"

	"github.com/krmfn/krmfn/e2e/offline/nodeimage"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// answerTimeout is the time limit for an existing cluster to prove healthy.
const answerTimeout = 10 * time.Second

// deleteUnhealthy deletes an existing cluster that is unhealthy, for example after a restart of the engine or an interrupted creation.
func (c Cluster) deleteUnhealthy(ctx context.Context, provider *cluster.Provider) error {
	existing, err := provider.List()
	if err != nil || !slices.Contains(existing, Name) {
		return err
	}
	why := c.healthy(ctx, provider)
	if why == nil {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return c.Progress.Step(fmt.Sprintf("delete the cluster %s of an earlier run: %v", Name, why), func() error {
		return provider.Delete(Name, c.Kubeconfig)
	})
}

// healthy returns nil if the cluster responds, is complete, and has the current configuration.
func (c Cluster) healthy(ctx context.Context, provider *cluster.Provider) error {
	members, err := provider.ListInternalNodes(Name)
	if err != nil {
		return err
	}
	image, err := imageOf(ctx, members)
	if err != nil {
		return err
	}
	expected, err := nodeimage.Images(ctx, c.Kubernetes)
	if err != nil {
		return err
	}
	if !slices.Contains(expected, image) {
		return fmt.Errorf("its node image is %s", image)
	}
	kubeconfig, err := provider.KubeConfig(Name, false)
	if err != nil {
		return err
	}
	client, err := clientOf([]byte(kubeconfig))
	if err != nil {
		return err
	}
	// A healthy cluster can be temporarily unready on a busy machine.
	return eventually(ctx, answerTimeout, func(ctx context.Context) error {
		if err := announced(ctx, client, image); err != nil {
			return err
		}
		return ready(ctx, client, len(members))
	})
}

// imageOf returns the node image of a cluster. It fails if a node does not run.
func imageOf(ctx context.Context, members []nodes.Node) (string, error) {
	if len(members) == 0 {
		return "", errors.New("it has no nodes")
	}
	var image string
	for _, node := range members {
		out, err := command.Run(ctx, "docker", "container", "inspect", "--format", "{{.State.Running}} {{.Config.Image}}", node.String())
		if err != nil {
			return "", err
		}
		running, name, _ := strings.Cut(strings.TrimSpace(out), " ")
		if running != "true" {
			return "", fmt.Errorf("node %s does not run", node)
		}
		image = name
	}
	return image, nil
}

// ready returns nil if all nodes and the cluster's DNS are ready.
func ready(ctx context.Context, client kubernetes.Interface, count int) error {
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if len(list.Items) != count {
		return fmt.Errorf("%d nodes, want %d", len(list.Items), count)
	}
	for _, node := range list.Items {
		if !NodeReady(&node) {
			return fmt.Errorf("node %s is not ready", node.Name)
		}
	}
	dns, err := client.AppsV1().Deployments(metav1.NamespaceSystem).Get(ctx, "coredns", metav1.GetOptions{})
	if err != nil {
		return err
	}
	if dns.Status.AvailableReplicas == 0 {
		return errors.New("the cluster's DNS is not ready")
	}
	return nil
}

// NodeReady reports whether a node is ready.
func NodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// Client returns a client for the cluster in the kubeconfig file.
func (c Cluster) Client() (kubernetes.Interface, error) {
	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("%w: try make cluster", err)
	}
	return kubernetes.NewForConfig(config)
}

func clientOf(kubeconfig []byte) (kubernetes.Interface, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(config)
}

// errFinal marks errors that retries do not fix.
var errFinal = errors.New("the cluster must be created again")

// eventually retries a check until it succeeds, fails with errFinal, or the timeout expires. It returns the last error of the check.
func eventually(ctx context.Context, timeout time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var last error
	for {
		err := check(ctx)
		if err == nil || errors.Is(err, errFinal) {
			return err
		}
		// After the timeout, the previous error is more useful than the context's error.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return last
		case <-time.After(200 * time.Millisecond):
		}
	}
}
