// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
)

// Run ends when the calls on its connections have ended, and nothing begins after it. The pods have addresses of this machine and
// are reached without help.
func TestRunEnds(t *testing.T) {
	t.Parallel()
	c := simulation.NewOn(t, sockets{})
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

// sockets are this machine's network, where each address in 127.0.0.0/8 is its own.
type sockets struct{}

// Address returns one that no other test is likely to have at the time.
func (sockets) Address() string {
	n := rand.N(1 << 24)
	return fmt.Sprintf("127.%d.%d.%d", 1+n>>16%250, n>>8&0xff, 1+n&0x7f)
}

func (sockets) Listen(ip string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(ip, strconv.Itoa(podtemplate.Port)))
	if err != nil {
		return nil, errors.Join(err, errors.New("another test may have it"))
	}
	return l, nil
}

func (sockets) Dial(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
