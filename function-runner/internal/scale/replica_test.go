// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"sync"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podevaluator"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/services/evaluation"
)

// defaults are the default limits of the chart, except MaxPods, which Size sets, and TTL, which is shorter so that replicas record last
// uses within the simulated time.
var defaults = pool.Config{Waitlist: 1, PerPod: 8, MaxWaiting: 1000, TTL: 5 * time.Minute}

const (
	scanInterval = time.Minute
	readyTimeout = 5 * time.Minute
	imageTTL     = 5 * time.Minute
)

// images is a registry in which all digests are known.
type images struct{}

func digest(reference string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(reference)))
}

func (images) Resolve(_ context.Context, reference string) (string, error) {
	return digest(reference), nil
}

func (images) Image(_ context.Context, reference, digest string) (registry.Image, error) {
	return registry.Image{Reference: reference, Digest: digest, Command: []string{"/fn"}, Platforms: []string{"linux/amd64"}}, nil
}

func (images) Seed(string, string) {}

// replica is a function runner: its pod manager and its evaluator.
type replica struct {
	manager   *podmanager.Manager
	evaluator *podevaluator.Evaluator
	stop      context.CancelFunc
	ended     chan struct{}

	// calls tracks the running calls, which shutDown waits for.
	mu       sync.Mutex
	stopping bool
	calls    sync.WaitGroup
}

// newReplica starts a replica with the pod template of a release.
func newReplica(ctx context.Context, s *Simulation, release string) (*replica, error) {
	log := slog.New(slog.DiscardHandler)
	templates, err := podmanager.LoadTemplate(ctx, podmanager.TemplateSource{
		Cluster: s.cluster.Version(), WrapperImage: "registry.example/wrapper-server:" + release, Injection: injection.InitContainer, Log: log,
	})
	if err != nil {
		return nil, err
	}
	manager, err := podmanager.New(ctx, podmanager.Config{
		Client: s.api.client(), Upkeep: s.api.client(), Namespace: "functions", Images: images{}, Templates: templates,
		Limits:   func(string) podmanager.Limits { return podmanager.Limits{Config: s.limits} },
		Frontend: podmanager.Auto, ReadyTimeout: readyTimeout, ScanInterval: scanInterval, ForeignTTL: s.limits.TTL,
		SupersededTTL: 30*time.Second + scanInterval, TagTTL: imageTTL, MaxWarmUps: 16,
		Endpoint: endpoint.Options{MaxMessageSize: 1 << 20, Connect: s.network.connect},
		Meter:    metricnoop.Meter{}, Log: log,
	})
	if err != nil {
		return nil, err
	}
	evaluator, err := podevaluator.New(podevaluator.Config{
		Reference: func(image string) (string, error) { return image, nil }, Resolver: images{}, Pods: manager,
		MaxTime: func(string) time.Duration { return 0 }, Tracer: tracenoop.Tracer{}, Meter: metricnoop.Meter{},
	})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	r := &replica{manager: manager, evaluator: evaluator, stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		_ = manager.Run(ctx) // it ends with ctx
	}()
	return r, nil
}

// enter begins a call. It returns false if the replica is stopping.
func (r *replica) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.stopping {
		r.calls.Add(1)
	}
	return !r.stopping
}

func (r *replica) evaluate(ctx context.Context, image string) error {
	_, err := r.evaluator.Evaluate(ctx, evaluation.Request{Image: image, ResourceList: []byte("list")})
	return err
}

// shutDown waits for the replica's calls and stops the replica.
func (r *replica) shutDown() {
	r.mu.Lock()
	r.stopping = true
	r.mu.Unlock()
	r.calls.Wait()
	r.stop()
	<-r.ended
}
