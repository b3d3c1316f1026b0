// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podmanager keeps the function pods of a namespace: it creates the pods that pools request, applies to the pools what becomes
// of their pods, whoever created them, and deletes those that are not needed. Any number of function runners may do so at once: the
// names of pods are the locks between them.
//
// The state of a pod is in its pool.Pod, and changes as package lifecycle says. A member has what Kubernetes knows of the pod.
//
// The order of locks within a process: Manager.mu comes first. While it is held, one at a time of these may be taken: a
// pool.Pool's, an endpoint.Endpoint's, Manager.workMu, and what Config.Images locks. Nothing is locked while one of those is
// held: a pool releases its lock before it requests pods, which takes workMu. All are held for moments, never during a request, a
// call or a wait.
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
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/services/images/registry"
)

// Images tells what pods run.
type Images interface {
	// Image returns the metadata of the image with a digest.
	Image(ctx context.Context, reference, digest string) (registry.Image, error)
	// Seed tells the digest that a reference had when another function runner last resolved it.
	Seed(reference, digest string)
}

// Limits are those of one function's pods.
type Limits struct {
	pool.Config
	// Overrides take the place of what the template says, and Declared that of the labels of images, as package traits has them; nil
	// for none.
	Overrides *podtemplate.Overrides
	Declared  map[string]string
	// Patches are merged into what the template and the overrides say.
	Patches []podpatch.Patch
	// Resources take the place of the template's and of the overrides' where they are set.
	Resources corev1.ResourceRequirements
}

// Events records Kubernetes events, as record.EventRecorder does.
type Events interface {
	Event(object runtime.Object, eventType, reason, message string)
}

// Config is what a manager needs.
type Config struct {
	// Client sends the requests that callers wait for, Upkeep all others: warm-up, expiry and the watch. Upkeep is Client if it is nil.
	Client, Upkeep *Client
	Namespace      string
	Images         Images
	// Templates says what pods look like.
	Templates *TemplateLoader
	// Limits returns the limits of a function, by its resolved reference.
	Limits func(reference string) Limits
	// Frontend says how pods are reached.
	Frontend Frontend
	// ReadyTimeout is how long a pod may take to get ready. ScanInterval is the time between scans for idle pods. ForeignTTL is how long
	// a pod of another maker is left alone.
	ReadyTimeout, ScanInterval, ForeignTTL time.Duration
	// SupersededTTL is how long a pod of a superseded pool may be idle. It must exceed ScanInterval by more than notingInterval: other
	// replicas, for which the pool may be current, note their uses of it at their scans.
	SupersededTTL time.Duration
	// TagTTL is how long another replica may take to learn that a tag has moved.
	TagTTL time.Duration
	// Endpoint configures the connections to pods.
	Endpoint endpoint.Options
	// Certificates are shown to pods that demand one; nil where there are no such pods.
	Certificates *podcertificates.Keeper
	// MaxWarmUps is the maximum number of pods that this replica starts at once without a call that waits for them.
	MaxWarmUps int
	// MaxConcurrent and StandbyProcesses are settings of the wrapper servers; 0 and nil mean their defaults.
	MaxConcurrent    int
	StandbyProcesses *int
	// PullSecrets are added to those of the template.
	PullSecrets []string
	// ImagesByReference has pods name their images by reference, and not by digest.
	ImagesByReference bool
	// Events records Kubernetes events of pods; nil records none. It does not block.
	Events Events
	Meter  metric.Meter
	Log    *slog.Logger
}

// Manager keeps function pods. Its methods may be used concurrently.
type Manager struct {
	config  Config
	metrics metrics
	// synced is closed when the manager knows the pods that existed when it began.
	synced chan struct{}
	// warming has an element for each pod that was created for no call, until it is ready, is given up or finds no node.
	warming chan struct{}
	// work are the goroutines, which all end after life; ended says that no more begin.
	workMu sync.Mutex
	work   sync.WaitGroup
	ended  bool
	life   context.Context //nolint:containedctx // pods outlive the calls that want them
	stop   context.CancelFunc

	// mu guards what follows, and the workloads and members. The package's comment has the order of locks.
	mu sync.RWMutex
	// workloads has all pools. current has the one that new calls of a reference go to; the others of the reference are superseded.
	workloads map[podname.Identity]*workload
	current   map[string]*workload
	// byUID has the members whose pods exist.
	byUID map[types.UID]*member
	// listed is what the watch shows.
	listed cache.Store
	// generation counts the changes of templates and settings.
	generation int
	// scheduled is when a pod was last seen to have got a node.
	scheduled time.Time
	// foreign has the pods of other makers by their names.
	foreign map[string]foreign
}

// New returns a manager that does nothing before Run. It keeps the values of ctx, not its end. It fails if metrics cannot be registered.
func New(ctx context.Context, c Config) (*Manager, error) {
	m := &Manager{
		config: c, synced: make(chan struct{}),
		workloads: map[podname.Identity]*workload{}, current: map[string]*workload{}, foreign: map[string]foreign{}, byUID: map[types.UID]*member{},
		warming: make(chan struct{}, c.MaxWarmUps),
	}
	m.life, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	return m, m.measure(c.Meter)
}

// Run keeps the pods until ctx ends. It leaves them to other function runners then, and returns when none of its calls runs any more.
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

// Changed applies changed templates and limits.
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

// spawn runs a function whose end Run waits for, unless the manager has ended.
func (m *Manager) spawn(run func()) {
	m.workMu.Lock()
	defer m.workMu.Unlock()
	if !m.ended {
		m.work.Go(run)
	}
}
