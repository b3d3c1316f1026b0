// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podmanager manages the function pods of a namespace: it creates the pods that pools request, applies changes of pods to the
// pools, regardless of which replica created the pods, and deletes pods that are not needed. Any number of function runners can manage
// the same namespace, because the names of pods act as locks.
//
// The state of a pod is in its pool.Pod, and changes according to package lifecycle. A member holds the Kubernetes object of the pod.
//
// Lock order within a process: Manager.mu comes first. While a goroutine holds it, the goroutine may take one of these locks at a time:
// the lock of a pool.Pool, the lock of an endpoint.Endpoint, Manager.workMu, and the locks of Config.Images. No goroutine takes a further
// lock while it holds one of the latter: a pool releases its lock before it requests pods, which takes workMu. No goroutine holds a lock
// during a request, a call or a wait.
package podmanager

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podcertificates"
	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/podpatch"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/functionconfig"
	"github.com/krmfn/krmfn/internal/images/registry"
)

// Images provides the metadata of images.
type Images interface {
	// Image returns the metadata of the image with a digest.
	Image(ctx context.Context, reference, digest string) (registry.Image, error)
	// Seed provides the digest that another function runner last resolved for a reference.
	Seed(reference, digest string)
}

// Limits are the settings for the pods of one function.
type Limits struct {
	pool.Config
	// Overrides replace fields of the template, and Declared replaces the labels of the image that package traits reads. Nil means none.
	Overrides *functionconfig.Overrides
	Declared  map[string]string
	// Patches are merged into the result of the template and the overrides.
	Patches []podpatch.Patch
	// Resources replace the resources of the template and of the overrides where they are set.
	Resources corev1.ResourceRequirements
}

// Events records Kubernetes events, like record.EventRecorder.
type Events interface {
	Event(object runtime.Object, eventType, reason, message string)
}

// Config configures a manager.
type Config struct {
	// Client watches the pods and sends the requests that callers wait for. Upkeep sends all others: warm-up, deletion, last uses and
	// label repair. If Upkeep is nil, Client sends them.
	Client, Upkeep *Client
	Namespace      string
	Images         Images
	// Templates provides the template of pods.
	Templates *TemplateLoader
	// Limits returns the settings of a function by its resolved reference.
	Limits func(reference string) Limits
	// Frontend controls how pods are reached.
	Frontend Frontend
	// ReadyTimeout is the maximum time until a pod is ready. ScanInterval is the time between scans for idle pods. ForeignTTL is the time
	// for which the manager keeps a pod that another program, or an older release, has created.
	ReadyTimeout, ScanInterval, ForeignTTL time.Duration
	// SupersededTTL is the maximum idle time of a pod of a superseded pool. It must exceed ScanInterval by more than notingInterval,
	// because other replicas, for which the pool may be current, record its use only during their scans.
	SupersededTTL time.Duration
	// TagTTL is the maximum time until another replica learns that a tag has moved.
	TagTTL time.Duration
	// Endpoint configures the connections to pods.
	Endpoint endpoint.Options
	// Certificates provides the client certificates for pods that require one. Nil means that no pods do.
	Certificates *podcertificates.Keeper
	// MaxWarmUps is the maximum number of pods that this replica starts at the same time without waiting calls.
	MaxWarmUps int
	// MaxConcurrent and StandbyProcesses configure the wrapper servers. 0 and nil mean their defaults.
	MaxConcurrent    int
	StandbyProcesses *int
	// PullSecrets are added to the pull secrets of the template.
	PullSecrets []string
	// ImagesByReference makes pods name their images by reference instead of by digest.
	ImagesByReference bool
	// Events records Kubernetes events of pods. It must not block. Nil disables events.
	Events Events
	Meter  metric.Meter
	Log    *slog.Logger
}

// Manager manages function pods. Its methods are safe for concurrent use.
type Manager struct {
	config  Config
	metrics metrics
	// synced is closed when the manager knows the pods that existed when it started.
	synced chan struct{}
	// warming holds an element for each pod that was created without a call, until the pod is ready, fails or finds no node.
	warming chan struct{}
	// creating holds an element for each request in flight that creates a pod for a caller.
	creating chan struct{}
	// work tracks the goroutines of the manager, which all end when life ends. ended reports that no more may start.
	workMu sync.Mutex
	work   sync.WaitGroup
	ended  bool
	life   context.Context //nolint:containedctx // pods outlive the calls that want them
	stop   context.CancelFunc

	// mu guards the following fields, the workloads and the members. The package comment defines the lock order.
	mu sync.RWMutex
	// workloads holds all pools. current maps a reference to the pool for its new calls. The other pools of the reference are superseded.
	workloads map[podname.Identity]*workload
	current   map[string]*workload
	// byUID holds the members whose pods exist.
	byUID map[types.UID]*member
	// listed is the store of the watch.
	listed cache.Store
	// generation counts changes of the template and of the settings.
	generation int
	// scheduled is when the manager last saw that a pod was assigned to a node.
	scheduled time.Time
	// foreign holds the pods that other programs or older releases have created, by name.
	foreign map[string]foreign
}

// New returns a manager that does nothing before Run. The manager uses the values of ctx, but outlives its cancellation. New fails if a
// metric cannot be registered.
func New(ctx context.Context, c Config) (*Manager, error) {
	m := &Manager{
		config: c, synced: make(chan struct{}),
		workloads: map[podname.Identity]*workload{}, current: map[string]*workload{}, foreign: map[string]foreign{}, byUID: map[types.UID]*member{},
		warming: make(chan struct{}, c.MaxWarmUps), creating: make(chan struct{}, maxCreating),
	}
	m.life, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	return m, m.measure(c.Meter)
}

// Run manages the pods until ctx ends. It does not delete them then, because other function runners may use them. It returns when the
// manager's goroutines and calls have ended.
func (m *Manager) Run(ctx context.Context) error {
	defer m.end()
	stopped := context.AfterFunc(ctx, m.stop)
	defer stopped()
	return m.watch(m.life) //nolint:contextcheck // it ends with ctx
}

func (m *Manager) end() {
	m.stop()
	m.workMu.Lock()
	m.ended = true
	m.workMu.Unlock()
	m.work.Wait()
}

// Synced returns a channel that is closed when the manager knows the existing pods.
func (m *Manager) Synced() <-chan struct{} { return m.synced }

// Changed applies a changed template and changed limits.
func (m *Manager) Changed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.generation++
	m.configure()
}

// upkeep returns the client for requests that no caller waits for.
func (m *Manager) upkeep() *Client {
	if m.config.Upkeep != nil {
		return m.config.Upkeep
	}
	return m.config.Client
}

// spawn runs a function in a goroutine that Run waits for. It does nothing after the manager has ended.
func (m *Manager) spawn(run func()) {
	m.workMu.Lock()
	defer m.workMu.Unlock()
	if !m.ended {
		m.work.Go(run)
	}
}
