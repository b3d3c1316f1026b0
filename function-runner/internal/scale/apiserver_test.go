// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
)

const (
	// requestTime is the minimum duration of a request, and watchDelay is the minimum delay of a watch event. Both vary up to twice the
	// value.
	requestTime = 5 * time.Millisecond
	watchDelay  = 10 * time.Millisecond
	// qps and burst are the rate limits of each of a replica's two clients, as in package connect.
	qps, burst = 30, 45
)

// errAway is the error of requests while the API server is away.
var errAway = errors.New("dial tcp 10.96.0.1:443: connect: connection refused")

// apiServer is the connection of all replicas to the API server: it delays and counts requests, and fails them while the server is away.
type apiServer struct {
	cluster *simulation.Cluster

	mu   sync.Mutex
	away bool
	// watches are stopped when the server goes away.
	watches map[*lateWatch]struct{}
	// forwarding tracks the goroutines of the watches.
	forwarding sync.WaitGroup
	counts     requests
	// perSecond holds the number of requests in each second since begin.
	begin     time.Time
	perSecond []int
}

// requests counts requests by kind.
type requests struct {
	// Created is the number of created pods. Collisions is the number of requests to create a pod that another replica has just created.
	Created, Collisions           int
	Get, Delete, Patch, ListWatch int
}

func (r requests) minus(o requests) requests {
	return requests{
		r.Created - o.Created, r.Collisions - o.Collisions, r.Get - o.Get, r.Delete - o.Delete, r.Patch - o.Patch, r.ListWatch - o.ListWatch,
	}
}

func newAPIServer(c *simulation.Cluster) *apiServer {
	return &apiServer{cluster: c, watches: map[*lateWatch]struct{}{}, begin: time.Now()}
}

// setAway stops all watches and makes further requests fail, or makes requests succeed again.
func (a *apiServer) setAway(away bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.away = away
	if away {
		for w := range a.watches {
			w.Stop()
		}
		clear(a.watches)
	}
}

func (a *apiServer) counted() requests {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.counts
}

// client returns a client with its own rate limit.
func (a *apiServer) client() *podmanager.Client {
	return &podmanager.Client{
		Pods:     &pods{a, a.cluster.Client.CoreV1().Pods(simulation.Namespace), flowcontrol.NewTokenBucketRateLimiter(qps, burst)},
		Services: a.cluster.Client.CoreV1().Services(simulation.Namespace),
	}
}

// admit counts a request that reaches the server.
func (a *apiServer) admit() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.away {
		return errAway
	}
	second := int(time.Since(a.begin) / time.Second)
	for len(a.perSecond) <= second {
		a.perSecond = append(a.perSecond, 0)
	}
	a.perSecond[second]++
	return nil
}

func (a *apiServer) count(add func(*requests)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	add(&a.counts)
}

// pods is the pod client of one client of the API server.
type pods struct {
	server  *apiServer
	of      podmanager.Pods
	limiter flowcontrol.RateLimiter
}

// send delays, counts and sends a request.
func send[T any](ctx context.Context, p *pods, request func() (T, error), count func(*requests, error)) (T, error) {
	var none T
	if err := p.limiter.Wait(ctx); err != nil {
		return none, err
	}
	sleep(requestTime / 2)
	if err := p.server.admit(); err != nil {
		return none, err
	}
	got, err := request()
	p.server.count(func(r *requests) { count(r, err) })
	sleep(requestTime / 2)
	if ctx.Err() != nil {
		return none, context.Cause(ctx)
	}
	return got, err
}

// sleep sleeps for a random time between d and 2d.
func sleep(d time.Duration) { time.Sleep(d + rand.N(d)) }

func (p *pods) List(ctx context.Context, o metav1.ListOptions) (*corev1.PodList, error) {
	return send(ctx, p, func() (*corev1.PodList, error) { return p.of.List(ctx, o) }, func(r *requests, _ error) { r.ListWatch++ })
}

func (p *pods) Get(ctx context.Context, name string, o metav1.GetOptions) (*corev1.Pod, error) {
	return send(ctx, p, func() (*corev1.Pod, error) { return p.of.Get(ctx, name, o) }, func(r *requests, _ error) { r.Get++ })
}

func (p *pods) Create(ctx context.Context, pod *corev1.Pod, o metav1.CreateOptions) (*corev1.Pod, error) {
	return send(ctx, p, func() (*corev1.Pod, error) { return p.of.Create(ctx, pod, o) }, func(r *requests, err error) {
		if apierrors.IsAlreadyExists(err) {
			r.Collisions++
		} else {
			r.Created++
		}
	})
}

func (p *pods) Patch(ctx context.Context, name string, t types.PatchType, patch []byte, o metav1.PatchOptions, sub ...string) (*corev1.Pod, error) {
	return send(ctx, p, func() (*corev1.Pod, error) { return p.of.Patch(ctx, name, t, patch, o, sub...) }, func(r *requests, _ error) { r.Patch++ })
}

func (p *pods) Delete(ctx context.Context, name string, o metav1.DeleteOptions) error {
	_, err := send(ctx, p, func() (any, error) { return nil, p.of.Delete(ctx, name, o) }, func(r *requests, _ error) { r.Delete++ })
	return err
}

func (p *pods) Watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := send(ctx, p, func() (watch.Interface, error) { return p.of.Watch(ctx, o) }, func(r *requests, _ error) { r.ListWatch++ })
	if err != nil {
		return nil, err
	}
	return p.server.late(w), nil
}

// lateWatch delays the events of a watch by watchDelay.
type lateWatch struct {
	of     watch.Interface
	events chan watch.Event
	stop   func()
	ended  chan struct{}
}

func (a *apiServer) late(of watch.Interface) *lateWatch {
	ended := make(chan struct{})
	w := &lateWatch{of: of, events: make(chan watch.Event), ended: ended, stop: sync.OnceFunc(func() {
		close(ended)
		of.Stop()
	})}
	a.mu.Lock()
	a.watches[w] = struct{}{}
	a.mu.Unlock()
	a.forwarding.Go(w.forward)
	return w
}

func (w *lateWatch) forward() {
	defer close(w.events)
	for event := range w.of.ResultChan() {
		sleep(watchDelay)
		for more := true; more; {
			select {
			case w.events <- event:
			case <-w.ended:
				return
			}
			select {
			case event, more = <-w.of.ResultChan():
			default:
				more = false
			}
		}
	}
}

// ResultChan implements watch.Interface.
func (w *lateWatch) ResultChan() <-chan watch.Event { return w.events }

// Stop implements watch.Interface.
func (w *lateWatch) Stop() { w.stop() }

// IsWatchListSemanticsUnSupported makes informers begin with a list request.
func (*pods) IsWatchListSemanticsUnSupported() bool { return true }
