// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator_test

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace/noop"
	"go.uber.org/goleak"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podevaluator"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/images/registry"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type response = wrapperv1.EvaluateResponse

const fn = "fn:v1"

// images is a fake registry. If wait is not nil, requests block until it is closed. err is the error of all requests.
type images struct {
	mu   sync.Mutex
	wait chan struct{}
	err  error
	// digest is the digest of all references. Empty means a digest of the hexadecimal digit a.
	digest string
	// asking is the number of requests in flight, and most is the maximum of asking so far.
	asking, most int
}

// set changes wait and err for new requests.
func (i *images) set(wait chan struct{}, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.wait, i.err = wait, err
}

// move changes the digest of all references.
func (i *images) move(digest string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.digest = digest
}

func (i *images) atOnce() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.most
}

func (i *images) Resolve(ctx context.Context, _ string) (string, error) {
	i.mu.Lock()
	i.asking++
	i.most = max(i.most, i.asking)
	wait, err, digest := i.wait, i.err, cmp.Or(i.digest, "sha256:"+strings.Repeat("a", 64))
	i.mu.Unlock()
	defer func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.asking--
	}()
	if wait != nil {
		select {
		case <-wait:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
	return digest, err
}

func (*images) Image(_ context.Context, reference, digest string) (registry.Image, error) {
	return registry.Image{Reference: reference, Digest: digest, Command: []string{"/fn"}}, nil
}

func (*images) Seed(string, string) {}

// runner is a pod evaluator with its manager, in a bubble.
type runner struct {
	*podevaluator.Evaluator
	t       *testing.T
	manager *podmanager.Manager
	images  *images
	limits  podmanager.Limits
	maxTime time.Duration
	stop    func()
}

func start(t *testing.T, c *simulation.Cluster, changes ...func(*pool.Config)) *runner {
	t.Helper()
	return startWith(t, c, func(*podevaluator.Config) {}, changes...)
}

// startWith starts a runner with a changed configuration of the evaluator.
func startWith(t *testing.T, c *simulation.Cluster, configure func(*podevaluator.Config), changes ...func(*pool.Config)) *runner {
	t.Helper()
	r := &runner{t: t, images: &images{}}
	r.limits = podmanager.Limits{Config: pool.Config{MaxPods: 1, Waitlist: 1, PerPod: 8, MaxWaiting: 100, TTL: time.Hour}}
	for _, change := range changes {
		change(&r.limits.Config)
	}
	templates, err := podmanager.LoadTemplate(t.Context(), podmanager.TemplateSource{
		Cluster: c.Version(), WrapperImage: "wrapper", Injection: injection.Auto, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.manager, err = podmanager.New(t.Context(), podmanager.Config{
		Client:    &podmanager.Client{Pods: c.HangingClient(), Services: c.Client.CoreV1().Services(simulation.Namespace)},
		Namespace: simulation.Namespace, Images: r.images, Templates: templates,
		Limits:   func(string) podmanager.Limits { return r.limits },
		Frontend: podmanager.Auto, ReadyTimeout: 2 * time.Minute, MaxWarmUps: 16, ScanInterval: time.Minute, ForeignTTL: time.Hour,
		Endpoint: endpoint.Options{MaxMessageSize: 1 << 20, Dial: c.DialOptions()},
		Meter:    metricnoop.Meter{}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	config := podevaluator.Config{
		Reference: func(name string) (string, error) { return reference.Resolve(name, "r.io") }, Resolver: r.images, Pods: r.manager, Tracer: noop.NewTracerProvider().Tracer(""),
		MaxTime: func(string) time.Duration { return r.maxTime }, Meter: metricnoop.Meter{},
	}
	configure(&config)
	if r.Evaluator, err = podevaluator.New(config); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- r.manager.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run() = %v, want nil", err)
		}
	})
	t.Cleanup(r.stop)
	<-r.manager.Synced()
	synctest.Wait()
	return r
}

func (r *runner) call() (evaluation.Response, error) { return r.callWithin(10 * time.Minute) }

func (r *runner) callWithin(limit time.Duration) (evaluation.Response, error) {
	return r.callFor("list", limit)
}

func (r *runner) callFor(list string, limit time.Duration) (evaluation.Response, error) {
	ctx, cancel := context.WithTimeout(r.t.Context(), limit)
	defer cancel()
	return r.Evaluate(ctx, evaluation.Request{Image: fn, ResourceList: []byte(list)})
}

// mustCall makes a call that must succeed, and returns the pod that has run it.
func (r *runner) mustCall() string {
	r.t.Helper()
	resp, err := r.call()
	if err != nil {
		r.t.Fatal(err)
	}
	if string(resp.ResourceList) != "list" {
		r.t.Errorf("output = %q, want list", resp.ResourceList)
	}
	synctest.Wait()
	return resp.Report.GetImplementation()
}

func bubble(t *testing.T, test func(t *testing.T, c *simulation.Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, simulation.New(t)) })
}
