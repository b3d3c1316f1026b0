// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package portforward

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// defaultPort is what a function runner's port is named, and its number.
const defaultPortName, defaultPort = "grpc", 9445

// endpoint is a port of a pod.
type endpoint struct {
	pod  string
	port int32
}

// endpoints returns the ready pods behind the target's port, in random order; at least one.
func (s *Service) endpoints(ctx context.Context) ([]endpoint, error) {
	var service corev1.Service
	err := s.client.Get().AbsPath("/api/v1/namespaces", s.target.Namespace, "services", s.target.Service).Do(ctx).Into(&service)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no Service %s in namespace %s%s", s.target.Service, s.target.Namespace, s.where())
	}
	if err != nil {
		return nil, s.explain(err, "get services")
	}
	port, err := choosePort(service.Spec.Ports, s.target.Port)
	if err != nil {
		return nil, fmt.Errorf("Service %s/%s: %w", s.target.Namespace, s.target.Service, err)
	}
	var slicesOf discoveryv1.EndpointSliceList
	err = s.client.Get().AbsPath("/apis/discovery.k8s.io/v1/namespaces", s.target.Namespace, "endpointslices").
		Param("labelSelector", discoveryv1.LabelServiceName+"="+s.target.Service).Do(ctx).Into(&slicesOf)
	if err != nil {
		return nil, s.explain(err, "list endpointslices")
	}
	ready := readyEndpoints(slicesOf.Items, port.Name)
	if len(ready) == 0 {
		return nil, fmt.Errorf("no pod of Service %s/%s is ready%s: see kubectl get pods -n %s",
			s.target.Namespace, s.target.Service, s.where(), s.target.Namespace)
	}
	rand.Shuffle(len(ready), func(i, j int) { ready[i], ready[j] = ready[j], ready[i] }) //nolint:gosec // it spreads the connections
	return ready, nil
}

// readyEndpoints returns the ready pods behind a port of a Service. Of a Service with addresses of both families each is once.
func readyEndpoints(items []discoveryv1.EndpointSlice, portName string) []endpoint {
	var ready []endpoint
	for _, slice := range items {
		for _, port := range slice.Ports {
			if port.Port == nil || valueOr(port.Name, "") != portName {
				continue
			}
			for _, e := range slice.Endpoints {
				if valueOr(e.Conditions.Ready, true) && e.TargetRef != nil && e.TargetRef.Kind == "Pod" {
					ready = append(ready, endpoint{e.TargetRef.Name, *port.Port})
				}
			}
		}
	}
	slices.SortFunc(ready, func(a, b endpoint) int { return cmp.Compare(a.pod, b.pod) })
	return slices.Compact(ready)
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}

// choosePort returns the port of that number or name; if neither is said, the only port, else a function runner's.
func choosePort(ports []corev1.ServicePort, want string) (corev1.ServicePort, error) {
	number, err := strconv.Atoi(want)
	isNumber := err == nil
	var all []string
	var found *corev1.ServicePort
	for i, p := range ports {
		if p.Protocol != corev1.ProtocolTCP && p.Protocol != "" {
			continue
		}
		all = append(all, strings.TrimSpace(p.Name+" "+strconv.Itoa(int(p.Port))))
		switch {
		case isNumber && int(p.Port) == number, want != "" && p.Name == want:
			return p, nil
		case want == "" && p.Name == defaultPortName, want == "" && p.Port == defaultPort && found == nil:
			found = &ports[i]
		}
	}
	switch {
	case found != nil:
		return *found, nil
	case want == "" && len(ports) == 1 && len(all) == 1:
		return ports[0], nil
	case len(all) == 0:
		return corev1.ServicePort{}, errors.New("it has no TCP port")
	case want == "":
		return corev1.ServicePort{}, fmt.Errorf("it has several ports (%s): add one, as in SERVICE:PORT", strings.Join(all, ", "))
	}
	return corev1.ServicePort{}, fmt.Errorf("it has no port %s, but %s", want, strings.Join(all, ", "))
}
