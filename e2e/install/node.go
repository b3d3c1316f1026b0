// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/cluster"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

const (
	// The kubelet runs the API server while the manifest is at apiServerManifest.
	apiServerManifest = "/etc/kubernetes/manifests/kube-apiserver.yaml"
	apiServerAside    = "/etc/kubernetes/kube-apiserver.yaml"
)

// KillContainer kills the first container of a pod with SIGKILL. Only the kubelet of its node notices.
func (i *Installation) KillContainer(ctx context.Context, pod *corev1.Pod) error {
	return i.signal(ctx, pod, "SIGKILL")
}

// StopContainer stops the first process of a pod's first container with SIGSTOP. Its connections stay open, and it does not respond until
// the kubelet kills it.
func (i *Installation) StopContainer(ctx context.Context, pod *corev1.Pod) error {
	return i.signal(ctx, pod, "SIGSTOP")
}

func (i *Installation) signal(ctx context.Context, pod *corev1.Pod, signal string) error {
	if len(pod.Status.ContainerStatuses) == 0 {
		return fmt.Errorf("%s for a container of pod %s: it has none yet", signal, pod.Name)
	}
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	// A node is a container with the same name.
	_, err := command.Run(ctx, "docker", "exec", pod.Spec.NodeName, "ctr", "--namespace=k8s.io", "task", "kill", "--signal="+signal, id)
	return err
}

// StopAPIServer stops the API server, and waits until it does not respond.
func (i *Installation) StopAPIServer(ctx context.Context) error {
	if _, err := command.Run(ctx, "docker", "exec", ControlPlane, "mv", apiServerManifest, apiServerAside); err != nil {
		return err
	}
	return i.awaitAPIServer(ctx, false)
}

// StartAPIServer starts the API server if it is stopped, and waits until the control plane and all nodes are ready.
func (i *Installation) StartAPIServer(ctx context.Context) error {
	_, err := command.Run(ctx, "docker", "exec", ControlPlane, "sh", "-c",
		fmt.Sprintf("! test -e %[1]s || mv %[1]s %[2]s", apiServerAside, apiServerManifest))
	if err != nil {
		return err
	}
	return i.awaitControlPlane(ctx)
}

// awaitControlPlane waits until the API server responds, all nodes and function runners are ready, and the controller manager and the
// scheduler work again. Those two exit when they lose their leases. The kubelet would restart them after its crash loop back-off, which
// grows to minutes when several outages follow each other, and which a new kubelet does not know.
func (i *Installation) awaitControlPlane(ctx context.Context) error {
	begin := time.Now()
	if err := i.awaitAPIServer(ctx, true); err != nil {
		return err
	}
	if _, err := command.Run(ctx, "docker", "exec", ControlPlane, "systemctl", "restart", "kubelet"); err != nil {
		return err
	}
	err := await(ctx, "the controllers and the scheduler have renewed their leases", func(ctx context.Context) (bool, error) {
		for _, name := range []string{"kube-controller-manager", "kube-scheduler"} {
			lease, err := i.Client.CoordinationV1().Leases("kube-system").Get(ctx, name, metav1.GetOptions{})
			if err != nil || !lease.Spec.RenewTime.After(begin) {
				return false, nil //nolint:nilerr // the function waits for this error
			}
		}
		return true, nil
	})
	if err != nil {
		return err
	}
	return i.AwaitSettled(ctx)
}

func (i *Installation) awaitAPIServer(ctx context.Context, wanted bool) error {
	return await(ctx, fmt.Sprintf("the API server answers: %t", wanted), func(ctx context.Context) (bool, error) {
		ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		nodes, err := i.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return !wanted, nil //nolint:nilerr // the function waits for this error
		}
		for _, node := range nodes.Items {
			if !cluster.NodeReady(&node) {
				return false, nil
			}
		}
		return wanted, nil
	})
}

// TrustRegistry makes all nodes trust a registry with certificates of the given certificate authority (PEM). A nil authority removes the
// trust. Both apply from the next image pull.
func (i *Installation) TrustRegistry(ctx context.Context, address string, authority []byte) error {
	nodes, err := i.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	dir := "/etc/containerd/certs.d/" + address
	script := fmt.Sprintf(`rm -rf %[1]q`, dir)
	if authority != nil {
		hosts := fmt.Sprintf("server = \"https://%[1]s\"\n[host.\"https://%[1]s\"]\n  ca = \"%[2]s/ca.crt\"\n", address, dir)
		script += fmt.Sprintf(` && mkdir -p %[1]q && printf %%s '%[2]s' >%[1]q/ca.crt && printf %%s '%[3]s' >%[1]q/hosts.toml`, dir, authority, hosts)
	}
	for _, node := range nodes.Items {
		if node.Name == Joining { // a suite that runs in parallel has created it; it has no container
			continue
		}
		// A node is a container with the same name.
		if _, err := command.Run(ctx, "docker", "exec", node.Name, "sh", "-c", script); err != nil {
			return fmt.Errorf("configure node %s for the registry %s: %w", node.Name, address, err)
		}
	}
	return nil
}

// ImageVolumes reports whether the cluster enables image volumes by default, which Kubernetes does since 1.35.
func (i *Installation) ImageVolumes() (bool, error) {
	server, err := i.Client.Discovery().ServerVersion()
	if err != nil {
		return false, fmt.Errorf("version of the cluster: %w", err)
	}
	minor, err := strconv.Atoi(strings.TrimRight(server.Minor, "+"))
	if err != nil {
		return false, fmt.Errorf("version of the cluster: %w", err)
	}
	return server.Major != "1" || minor >= 35, nil
}
