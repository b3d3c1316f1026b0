// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

const (
	runnerPort = 9445
	// nodePortLabel is a label of the NodePort Services that make function runners reachable from this machine.
	nodePortLabel = "krmfn.dev/e2e"
	// podLabel is a label of function runners that have a Service of their own.
	podLabel = "krmfn.dev/e2e-pod"
	// allRunners is the name of the Service for all function runners.
	allRunners = "function-runner-e2e"
)

// runnerSelector is the selector of the chart's Service.
var runnerSelector = map[string]string{"app": "function-runner"}

// workerAddress returns the address of a worker node, which stays reachable while the control plane is down.
func workerAddress(ctx context.Context, client kubernetes.Interface) (string, error) {
	nodes, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: "!node-role.kubernetes.io/control-plane"})
	if err != nil {
		return "", err
	}
	for _, node := range nodes.Items {
		for _, address := range node.Status.Addresses {
			if address.Type == corev1.NodeInternalIP {
				return address.Address, nil
			}
		}
	}
	return "", errors.New("the cluster has no worker with an address: try make cluster-down cluster")
}

// Dial returns a client whose connections go to any function runner.
func (i *Installation) Dial(ctx context.Context) (*Client, error) {
	return i.dial(ctx, allRunners, runnerSelector)
}

// DialPod returns a client whose connections go to one function runner.
func (i *Installation) DialPod(ctx context.Context, pod string) (*Client, error) {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, podLabel, pod)
	if err := i.patchPod(ctx, i.Release.Namespace, pod, patch); err != nil {
		return nil, err
	}
	return i.dial(ctx, pod, map[string]string{podLabel: pod})
}

// Address returns the address of a Service for all function runners, for clients that do not use Dial.
func (i *Installation) Address(ctx context.Context) (string, error) {
	return i.address(ctx, allRunners, runnerSelector)
}

func (i *Installation) dial(ctx context.Context, name string, selector map[string]string) (*Client, error) {
	address, err := i.address(ctx, name, selector)
	if err != nil {
		return nil, err
	}
	return connect(ctx, address)
}

func (i *Installation) address(ctx context.Context, name string, selector map[string]string) (string, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.addresses[name] == "" {
		address, err := i.open(ctx, name, selector)
		if err != nil {
			return "", err
		}
		i.addresses[name] = address
	}
	return i.addresses[name], nil
}

// open creates a NodePort Service and returns its address.
func (i *Installation) open(ctx context.Context, name string, selector map[string]string) (string, error) {
	services := i.Client.CoreV1().Services(i.Release.Namespace)
	service, err := services.Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{nodePortLabel: "true"}},
		Spec: corev1.ServiceSpec{
			Type:     corev1.ServiceTypeNodePort,
			Selector: selector,
			Ports:    []corev1.ServicePort{{Port: runnerPort, TargetPort: intstr.FromInt32(runnerPort)}},
		},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		service, err = services.Get(ctx, name, metav1.GetOptions{})
	}
	if err != nil {
		return "", fmt.Errorf("create Service %s for function runners: %w", name, err)
	}
	return net.JoinHostPort(i.node, strconv.Itoa(int(service.Spec.Ports[0].NodePort))), nil
}

// deleteNodePorts deletes the Services that open created, which are not part of the chart.
func (i *Installation) deleteNodePorts(ctx context.Context) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	clear(i.addresses)
	services := i.Client.CoreV1().Services(i.Release.Namespace)
	list, err := services.List(ctx, metav1.ListOptions{LabelSelector: nodePortLabel})
	if err != nil {
		return err
	}
	for _, service := range list.Items {
		if err := services.Delete(ctx, service.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
