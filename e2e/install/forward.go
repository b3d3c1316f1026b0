// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
)

// Forward forwards connections to an address on this machine to a port in a pod, like kubectl port-forward. NetworkPolicies do not apply to
// them. The caller must call stop.
func (i *Installation) Forward(ctx context.Context, pod *corev1.Pod, port int32) (address string, stop func(), err error) {
	config, err := clientcmd.BuildConfigFromFlags("", i.helm.kubeconfig)
	if err != nil {
		return "", nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(config)
	if err != nil {
		return "", nil, err
	}
	url := i.Client.CoreV1().RESTClient().Post().Namespace(pod.Namespace).Resource("pods").Name(pod.Name).SubResource("portforward").URL()
	dialer := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, url)
	end, ready := make(chan struct{}), make(chan struct{})
	forwarder, err := portforward.NewOnAddresses(dialer, []string{"127.0.0.1"}, []string{fmt.Sprintf("0:%d", port)}, end, ready, io.Discard, io.Discard)
	if err != nil {
		return "", nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- forwarder.ForwardPorts() }()
	select {
	case <-ready:
	case err = <-ended:
	case <-ctx.Done():
		close(end)
		err = errors.Join(ctx.Err(), <-ended)
	}
	if err != nil {
		return "", nil, fmt.Errorf("forward a port to pod %s: %w", pod.Name, err)
	}
	stop = func() {
		close(end)
		<-ended //nolint:errcheck // nothing to lose
	}
	ports, err := forwarder.GetPorts()
	if err != nil {
		stop()
		return "", nil, err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))), stop, nil
}
