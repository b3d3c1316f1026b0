// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/traits"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type response = wrapperv1.EvaluateResponse

const (
	fn  = "r.io/fn:v1"
	ttl = 30 * time.Minute
)

// digest returns a digest that repeats one hexadecimal digit.
func digest(digit string) string { return "sha256:" + strings.Repeat(digit, 64) }

// images is a fake registry that has all images. It records calls of Seed.
type images struct {
	mu     sync.Mutex
	seeded map[string]string
	// wait, if not nil, blocks requests until it is closed. err is the error of all requests.
	wait chan struct{}
	err  error
	// traits are declared by the labels of all images.
	traits traits.Traits
}

func (i *images) Image(ctx context.Context, reference, digest string) (registry.Image, error) {
	if i.wait != nil {
		select {
		case <-i.wait:
		case <-ctx.Done():
			return registry.Image{}, context.Cause(ctx)
		}
	}
	return registry.Image{Reference: reference, Digest: digest, Command: []string{"/fn"}, Platforms: []string{"linux/riscv64"}, Traits: i.traits}, i.err
}

func (i *images) Seed(reference, digest string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seeded[reference] = digest
}

// logLines collects the log output.
type logLines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logLines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logLines) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

// replica is a function runner's manager in a bubble. It scans only when the test calls rescan.
type replica struct {
	*Manager
	t      *testing.T
	images *images
	log    *logLines
	// limits are the limits of all functions. limit changes them.
	limitsMu sync.Mutex
	limits   Limits
	stop     func()
}

func newTemplates(c *simulation.Cluster, method injection.Method) *TemplateLoader {
	template, err := podtemplate.Default("wrapper", method)
	if err != nil {
		panic(err)
	}
	loader := &TemplateLoader{
		source: TemplateSource{Cluster: c.Version(), WrapperImage: "wrapper", Injection: injection.Auto, Log: slog.New(slog.DiscardHandler)},
	}
	loader.current.Store(template)
	return loader
}

// newReplica returns a replica that does not run.
func newReplica(t *testing.T, c *simulation.Cluster, changes ...func(*Config)) *replica {
	t.Helper()
	r := &replica{t: t, images: &images{seeded: map[string]string{}}, log: &logLines{}}
	r.limits.Config = pool.Config{MaxPods: 1, Waitlist: 1, PerPod: 8, MaxWaiting: 100, TTL: ttl}
	config := Config{
		Client: &Client{Pods: c.HangingClient(), Services: c.Client.CoreV1().Services(simulation.Namespace)}, Namespace: simulation.Namespace,
		Images: r.images, Templates: newTemplates(c, injection.InitContainer),
		Limits: func(string) Limits {
			r.limitsMu.Lock()
			defer r.limitsMu.Unlock()
			return r.limits
		},
		Frontend: Auto, ReadyTimeout: 2 * time.Minute, MaxWarmUps: 16, ScanInterval: 1000 * time.Hour, ForeignTTL: ttl, SupersededTTL: supersededTTL,
		Endpoint: endpoint.Options{MaxMessageSize: 1 << 20, Dial: c.DialOptions()},
		Meter:    noop.Meter{}, Log: slog.New(slog.NewTextHandler(r.log, nil)),
	}
	for _, change := range changes {
		change(&config)
	}
	var err error
	if r.Manager, err = New(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	return r
}

// supersededTTL is the SupersededTTL of the managers.
const supersededTTL = 2 * time.Minute

// start returns a replica that knows the existing pods and runs until the test ends or calls stop.
func start(t *testing.T, c *simulation.Cluster, changes ...func(*Config)) *replica {
	t.Helper()
	r := newReplica(t, c, changes...)
	r.run()
	return r
}

func (r *replica) run() {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run() = %v, want nil", err)
		}
	})
	r.t.Cleanup(r.stop)
	<-r.Synced()
	synctest.Wait()
}

// request creates the pod of a pool with an ordinal.
func (r *replica) request(f *pool.Pool, ordinal int) {
	r.provide(r.workloads[f.ID], f.Adopt(ordinal))
}

// deletePodByHand deletes a pod like a user.
func (r *replica) deletePodByHand(name string) {
	r.t.Helper()
	if err := r.config.Client.Pods.Delete(r.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		r.t.Fatal(err)
	}
	synctest.Wait()
}

// limit changes the limits of all functions.
func (r *replica) limit(change func(*Limits)) {
	r.limitsMu.Lock()
	change(&r.limits)
	r.limitsMu.Unlock()
	r.Changed()
	synctest.Wait()
}

// rescan scans once.
func (r *replica) rescan() {
	r.scan(r.t.Context())
	synctest.Wait()
}

// call calls the function once, and returns the pod that has run the call.
func (r *replica) call(digest string) (pod string, err error) {
	return r.callWithin(r.t.Context(), fn, digest)
}

func (r *replica) callWithin(ctx context.Context, reference, digest string) (pod string, err error) {
	pod, _, err = r.evaluate(ctx, reference, digest)
	return pod, err
}

// evaluate makes a call, and retries it while no pod has started it, like the pod evaluator.
func (r *replica) evaluate(ctx context.Context, reference, digest string) (pod, output string, err error) {
	for {
		pod, output, err = r.attempt(ctx, reference, digest)
		if !errors.As(err, new(*endpoint.NotRunError)) || ctx.Err() != nil {
			return pod, output, err
		}
		time.Sleep(time.Millisecond)
	}
}

func (r *replica) attempt(ctx context.Context, reference, digest string) (pod, output string, err error) {
	f := r.Pool(reference, digest) //nolint:contextcheck // pods outlive the calls that want them
	defer f.Done()
	lease, err := f.Acquire(ctx)
	if err != nil {
		return "", "", err
	}
	defer lease.Release()
	resp, err := lease.Evaluate(ctx, []byte("list"))
	return lease.Endpoint.Pod, string(resp.ResourceList), err
}

// mustCall fails the test if a call fails.
func (r *replica) mustCall(digest string) string {
	r.t.Helper()
	pod, err := r.call(digest)
	if err != nil {
		r.t.Fatalf("call of %s = %v, want nil", fn, err)
	}
	synctest.Wait()
	return pod
}

// answer is the result of a call.
type answer struct {
	pod string
	err error
}

// begin makes a call in the background, with a timeout of two hours.
func (r *replica) begin(reference, digest string) <-chan answer {
	out := make(chan answer, 1)
	go func() {
		ctx, cancel := context.WithTimeout(r.t.Context(), 2*time.Hour)
		defer cancel()
		pod, err := r.callWithin(ctx, reference, digest)
		out <- answer{pod, err}
	}()
	synctest.Wait()
	return out
}

// poolOf returns the identity of a pool.
func (r *replica) poolOf(reference, digest string) podname.Identity {
	return podname.Identity{Image: reference, Digest: digest, Template: r.config.Templates.Current().VersionFor(r.values(reference))}
}

func names(c *simulation.Cluster) []string {
	var all []string
	for _, pod := range c.Pods() {
		all = append(all, pod.Name)
	}
	return all
}

func wantPods(t *testing.T, c *simulation.Cluster, want ...string) {
	t.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, names(c)); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
}

func wantStats(t *testing.T, r *replica, digest string, want pool.Stats) {
	t.Helper()
	f := r.Pool(fn, digest)
	defer f.Done()
	if diff := cmp.Diff(want, f.Stats()); diff != "" {
		t.Errorf("Stats() (-want +got):\n%s", diff)
	}
}

// first makes the first n requests with a verb and a resource fail.
func first(n int, verb, resource string, err error) func(simulation.Request) error {
	return func(r simulation.Request) error {
		if r.Verb == verb && r.Resource == resource && n > 0 {
			n--
			return err
		}
		return nil
	}
}

func always(verb, resource string, err error) func(simulation.Request) error {
	return first(1<<30, verb, resource, err)
}

// bubble runs a test in a synctest bubble with a simulated cluster. All goroutines of the test must end with it.
func bubble(t *testing.T, test func(t *testing.T, c *simulation.Cluster)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, simulation.New(t)) })
}

// block returns a handler that blocks until letGo is called.
func block() (h simulation.Handler, letGo func()) {
	free := make(chan struct{})
	return func(ctx context.Context, list []byte) (*response, error) {
		select {
		case <-free:
			return &response{ResourceList: list}, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}, func() { close(free) }
}

var errDown = errors.New("dial tcp: connection refused")

func annotated(pod *corev1.Pod, key, value string) {
	pod.Annotations = maps.Clone(pod.Annotations)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[key] = value
}
