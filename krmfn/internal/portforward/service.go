// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package portforward

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	// Kubeconfigs may name the OIDC provider; credential plugins that are programs need no import.
	_ "k8s.io/client-go/plugin/pkg/client/auth/oidc"
	"k8s.io/client-go/rest"
)

// Service is a port of a Service, seen through the API server. It may be used by any number of goroutines at once.
type Service struct {
	target  Target
	context string
	config  *rest.Config
	client  *rest.RESTClient

	mu sync.Mutex
	// last is the pod that the last connection led to.
	last string
	// open are the connections that are not closed.
	open   map[*conn]struct{}
	closed bool
}

// Open reads the kubeconfig and returns the Service that the target names. It sends no request. Errors say what is wrong with the
// kubeconfig.
func Open(target Target, kubeconfig Kubeconfig) (*Service, error) {
	config, name, err := kubeconfig.configure(target.Context)
	if err != nil {
		return nil, err
	}
	client, err := rest.UnversionedRESTClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("use the kubeconfig: %w", err)
	}
	return &Service{target: target, context: name, config: config, client: client, open: map[*conn]struct{}{}}, nil
}

// Dial connects to a ready pod of the Service, to another than the last connection if there is one. The connection lives until it
// is closed, whatever becomes of the context. Errors are one line and say what to do: which permission is missing, for example.
func (s *Service) Dial(ctx context.Context) (net.Conn, error) {
	ready, err := s.endpoints(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()
	// The pod of a connection that was lost may be taken for ready for some time.
	slices.SortStableFunc(ready, func(a, b endpoint) int { return boolToInt(a.pod == last) - boolToInt(b.pod == last) })
	for _, e := range ready {
		var c *conn
		if c, err = s.connect(ctx, e); err == nil {
			if s.register(c, e.pod) {
				return c, nil
			}
			return nil, errors.Join(net.ErrClosed, c.Close())
		}
		if ctx.Err() != nil || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
			break
		}
	}
	return nil, s.explain(err, "create pods/portforward")
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// register keeps a connection until it is closed. It refuses it after Close.
func (s *Service) register(c *conn, pod string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.last = pod
	s.open[c] = struct{}{}
	c.forget = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.open, c)
	}
	return true
}

// Close closes all connections and waits until they are.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	for _, c := range open {
		_ = c.Close() // nothing is lost with it
	}
	if s.client.Client != nil {
		s.client.Client.CloseIdleConnections()
	}
}

// explain words what a request for the given verb and resource failed of.
func (s *Service) explain(err error, request string) error {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you may not %s in namespace %s%s: ask for a role that permits it", request, s.target.Namespace, s.where())
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server does not accept your credentials%s: log in again", s.where())
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("the API server at %s does not answer: check the kubeconfig and the network", s.config.Host)
	}
	return fmt.Errorf("%s in namespace %s%s: %w", request, s.target.Namespace, s.where(), err)
}

// where tells which context was used, in parentheses behind a space.
func (s *Service) where() string {
	if s.context == "" {
		return ""
	}
	return fmt.Sprintf(" (context %s)", s.context)
}
