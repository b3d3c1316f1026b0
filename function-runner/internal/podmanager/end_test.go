// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
)

// Run ends when the calls on its connections have ended, and nothing begins after it. The pods have addresses of this machine and
// are reached without help.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	c := simulation.NewOnSockets(t)
	r := newReplica(t, c, func(config *Config) {
		config.Endpoint = endpoint.Options{MaxMessageSize: 1 << 20, Dial: []grpc.DialOption{}}
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	<-r.Synced()
	pod, err := r.call(digest("a"))
	if err != nil {
		t.Fatal(err)
	}
	began, free := make(chan struct{}), make(chan struct{})
	c.Wrapper(pod).Handle(func(context.Context, []byte) (*response, error) {
		close(began)
		<-free
		return &response{}, nil
	})
	call := make(chan answer, 1)
	go func() {
		pod, err := r.call(digest("a"))
		call <- answer{pod, err}
	}()
	<-began
	stop()
	<-r.life.Done()
	select {
	case err := <-ended:
		t.Errorf("Run has ended before the call: %v", err)
	default:
	}
	close(free)
	if got := <-call; got != (answer{pod: pod}) {
		t.Errorf("got %v", got)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.callWithin(late, "r.io/other", digest("b")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call after the end: %v", err)
	}
	// The pod is left to others.
	wantPods(t, c, pod)
}
