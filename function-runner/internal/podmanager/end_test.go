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

// Run returns after the calls on its connections have ended, and nothing starts afterwards. The pods listen on local TCP addresses.
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
		t.Errorf("Run() returned %v before the running call ended", err)
	default:
	}
	close(free)
	if got := <-call; got != (answer{pod: pod}) {
		t.Errorf("the running call got %v, want pod %s", got, pod)
	}
	if err := <-ended; err != nil {
		t.Errorf("Run() = %v, want nil", err)
	}
	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.callWithin(late, "r.io/other", digest("b")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("call after the end: error = %v, want DeadlineExceeded", err)
	}
	// Run leaves the pod to other replicas.
	wantPods(t, c, pod)
}

// sockets is the local network, on which pods get addresses in 127.0.0.0/8.
type sockets struct{}

// Address returns a random address, which concurrent tests are unlikely to use.
func (sockets) Address() string {
	n := rand.N(1 << 24)
	return fmt.Sprintf("127.%d.%d.%d", 1+n>>16%250, n>>8&0xff, 1+n&0x7f)
}

func (sockets) Listen(ip string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", net.JoinHostPort(ip, strconv.Itoa(podtemplate.Port)))
	if err != nil {
		return nil, errors.Join(err, errors.New("another test may use the address"))
	}
	return l, nil
}

func (sockets) Dial(ctx context.Context, address string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
