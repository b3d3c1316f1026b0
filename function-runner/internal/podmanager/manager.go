// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podmanager keeps the function pods of a namespace: it makes those that pools want, tells the pools what becomes of
// them, whoever made them, and deletes those that are not needed. Any number of function runners may do so at once: the
// names of pods are the locks between them.
//
// The state of each pod is in its member, changed by Pool.apply as package lifecycle says; a pool.Pool is told of it there.
//
// The order of locks within a process: Manager.mu comes first. While it is held, one at a time of these may be taken: a
// pool.Pool's, an endpoint.Endpoint's, Manager.workMu, and what Config.Images locks. Nothing is locked while one of those is
// held: a pool releases its lock before it calls want, which takes workMu. All are held for moments, never during a request, a
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
	"github.com/krmfn/krmfn/function-runner/internal/podpatch"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/services/images/registry"
)

// Images tells what pods need to know of images.
type Images interface {
	// Image returns what the registry says of the image that a reference names by a digest.
	Image(ctx context.Context, reference, digest string) (registry.Image, error)
	// Seed says which digest a reference had when somebody last asked.
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
	// Client is for what callers wait for. Upkeep is for the rest: warm-up, expiry, and the watch; nil for Client, too.
	Client, Upkeep *Client
	Namespace      string
	Images         Images
	// Templates says what pods look like.
	Templates *TemplateLoader
	// Limits returns the limits of a function, by its resolved reference.
	Limits func(reference string) Limits
	// Frontend says how pods are reached.
	Frontend Frontend
	// ReadyTimeout is how long a pod may take to get ready; ScanInterval is how often idle pods are looked for, and ForeignTTL
	// how long a pod of another maker is left alone.
	ReadyTimeout, ScanInterval, ForeignTTL time.Duration
	// TagTTL is how long another replica may take to learn that a tag has moved.
	TagTTL time.Duration
	// Endpoint configures the connections to pods.
	Endpoint endpoint.Options
	// Certificates are shown to pods that demand one; nil where there are no such pods.
	Certificates *podcertificates.Keeper
	// MaxWarmUps is how many pods may be starting at once that were made here and that no call has waited for.
	MaxWarmUps int
	// MaxConcurrent and StandbyProcesses are handed to the wrapper servers; 0 and nil leave it to them.
	MaxConcurrent    int
	StandbyProcesses *int
	// PullSecrets are added to those of the template.
	PullSecrets []string
	// ImagesByReference has pods name their images by reference, and not by digest.
	ImagesByReference bool
	// Events records what becomes of pods as Kubernetes events; nil for nowhere. It does not wait.
	Events Events
	Meter  metric.Meter
	Log    *slog.Logger
}

// Manager keeps function pods. Its methods may be used by any number of goroutines at once.
type Manager struct {
	config  Config
	metrics metrics
	// synced is closed when the pods that there are have been looked at.
	synced chan struct{}
	// warming has an element for each pod that was made for no call, until it is ready, is given up or finds no node.
	warming chan struct{}
	// work has the goroutines, which all end after life; ended says that there will be no more.
	workMu sync.Mutex
	work   sync.WaitGroup
	ended  bool
	life   context.Context //nolint:containedctx // pods outlive the calls that want them
	stop   context.CancelFunc

	// mu guards what follows, and what Pools and members say is guarded by it. The package's comment has the order of locks.
	mu sync.RWMutex
	// pools has the pools by their hash; current the one that new calls of a reference go to.
	pools   map[string]*Pool
	current map[string]*Pool
	// byUID has the members of the pools whose pods exist.
	byUID map[types.UID]*member
	// listed is what the watch shows.
	listed cache.Store
	// epoch counts the changes of templates and settings.
	epoch int
	// foreign has the pods of other makers by their names.
	foreign map[string]foreign
}

// New returns a manager that does nothing before Run. Of ctx, the values are kept. The error is that the metrics cannot be made.
func New(ctx context.Context, c Config) (*Manager, error) {
	m := &Manager{
		config: c, synced: make(chan struct{}),
		pools: map[string]*Pool{}, current: map[string]*Pool{}, foreign: map[string]foreign{}, byUID: map[types.UID]*member{},
		warming: make(chan struct{}, c.MaxWarmUps),
	}
	m.life, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	return m, m.measure(c.Meter)
}

// Run keeps the pods until ctx ends. It then leaves them to others, and returns when no call runs on them any more.
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

// Synced is closed when the manager knows the pods that there are.
func (m *Manager) Synced() <-chan struct{} { return m.synced }

// Changed says that templates or limits have changed.
func (m *Manager) Changed() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.epoch++
	for _, p := range m.pools {
		p.pool.SetConfig(m.poolConfig(p))
	}
}

// upkeep returns the client for what no caller waits for.
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
