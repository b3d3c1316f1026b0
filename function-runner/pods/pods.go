// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package pods assembles the pod evaluator. It is a separate package so that runners without a cluster do not link it.
package pods

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"go.opentelemetry.io/otel/metric"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/function-runner/internal/memo"
	"github.com/krmfn/krmfn/function-runner/internal/podcertificates"
	"github.com/krmfn/krmfn/function-runner/internal/podevaluator"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/function-runner/internal/podpatch"
	"github.com/krmfn/krmfn/function-runner/internal/pullsecret"
	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/connect"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/cluster/podcacheconfig"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/providers/signatures"
	"github.com/krmfn/krmfn/internal/server/configfile"
	"github.com/krmfn/krmfn/internal/server/flags"
	"github.com/krmfn/krmfn/internal/server/telemetry"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/reference"
)

// Config configures the pod evaluator.
type Config struct {
	Options options.Options
	// Environ is the environment. WRAPPER_SERVER_IMAGE is the image of the wrapper server. Wrapper servers also get the variables that
	// configure trace exports.
	Environ []string
	// Keychain has the credentials for registries that the options give no credentials for. Nil means the configuration of Docker or
	// Podman.
	Keychain authn.Keychain
	// Processes runs credential helpers.
	Processes *process.Runner
	// Memo caches the results of deterministic functions. Nil disables the result cache.
	Memo      *memo.Cache
	Telemetry *telemetry.Telemetry
	Log       *slog.Logger
}

// Pods evaluates functions in pods. Its methods are safe for concurrent use.
type Pods struct {
	config    Config
	cluster   *client.Cluster
	settings  *settingsFile
	patches   *podpatch.Store
	templates *podmanager.TemplateLoader
	// certificates provides the client certificates for function pods.
	certificates *podcertificates.Keeper
	// configs follows the FunctionConfig objects, and is nil if that is disabled. configure gets the executables of the objects.
	configs   configs
	configure func([]exec.Executable)
	images    *registry.Cache
	// resolver resolves the images that the policy permits.
	resolver podevaluator.Resolver
	// signatures is nil without an image policy.
	signatures *signatures.Checker
	// trust, keychain and secret configure access to private registries. keychain and secret are nil if they are disabled.
	trust    *registry.Trust
	keychain *registry.Keychain
	secret   *pullsecret.Keeper
	// background holds the functions that Run runs in goroutines until its context ends.
	background []func(context.Context)
	manager    *podmanager.Manager
	evaluator  *podevaluator.Evaluator
	warmer     *podevaluator.Warmer
}

// New returns a pod evaluator that does nothing before Run. It fails if the configuration is invalid, or if the API server does not
// respond.
func New(ctx context.Context, c Config) (*Pods, error) {
	wrapperImage := flags.Getenv(c.Environ, wrapperImageVariable)
	if wrapperImage == "" {
		return nil, fmt.Errorf("the environment variable %s must name the wrapper server's image: set it, or disable function pods with --disable-runtimes=pod",
			wrapperImageVariable)
	}
	config, err := connect.Config(c.Options.Pod.Kubeconfig, "function-runner")
	if err != nil {
		return nil, fmt.Errorf("find the cluster for the function pods (give --kubeconfig, or disable function pods with --disable-runtimes=pod): %w", err)
	}
	// Each client has its own rate limit, so that callers do not wait for upkeep.
	cluster, err1 := client.New(config)
	upkeep, err2 := client.New(config)
	if err := errors.Join(err1, err2); err != nil {
		return nil, fmt.Errorf("connect to the cluster: %w", err)
	}
	p := &Pods{config: c, cluster: cluster, settings: newSettingsFile(c.Options.Pod.CacheConfig, c.Options.Reference, c.Log)}
	_, _ = p.settings.Load() // Load logs errors
	if p.patches, err = podpatch.NewStore(c.Options.Pod.Patches, c.Log); err != nil {
		return nil, err
	}
	source := podmanager.TemplateSource{
		Cluster: cluster, Namespace: connect.OwnNamespace(), ConfigMap: c.Options.Pod.Template, ConfigMaps: configMaps(cluster, connect.OwnNamespace()),
		WrapperImage: wrapperImage, Injection: injection.Method(c.Options.Pod.Injection), Env: traced(c.Environ), Log: c.Log,
		AssignedUser: c.Options.Pod.User == functionpod.UserAssigned, Reloaded: p.reloaded("pod_template"),
	}
	if err = p.certify(ctx, cluster, &source); err == nil {
		p.templates, err = podmanager.LoadTemplate(ctx, source)
	}
	if err != nil {
		return nil, err
	}
	registries := registry.NewClient(p.registries(cluster))
	p.images = registry.NewCache(context.WithoutCancel(ctx), registries, registry.CacheOptions{TTL: c.Options.Images.TTL, Log: c.Log})
	p.know()
	if err = p.permit(ctx, registries, p.meter()); err == nil {
		err = p.follow(config, cluster)
	}
	if err == nil {
		err = p.assemble(ctx, cluster, upkeep)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// close cancels registry requests and waits for them.
func (p *Pods) close() {
	p.images.Close()
	if p.signatures != nil {
		p.signatures.Close()
	}
}

func (p *Pods) meter() metric.Meter {
	return p.config.Telemetry.Metrics.Meter("github.com/krmfn/krmfn/function-runner")
}

// assemble creates the components and connects them.
func (p *Pods) assemble(ctx context.Context, cluster, upkeep *client.Cluster) error {
	o, meter := p.config.Options, p.meter()
	var err1, err2 error
	events, write := newRecorder(ctx, upkeep, o.Pod.Namespace)
	p.background = append(p.background, write)
	p.manager, err1 = podmanager.New(ctx, podmanager.Config{
		Client: functionPods(cluster, o.Pod.Namespace), Upkeep: functionPods(upkeep, o.Pod.Namespace),
		Namespace: o.Pod.Namespace, Images: p.images, Templates: p.templates, Limits: p.limits,
		Frontend: podmanager.Frontend(o.Pod.Frontend), ReadyTimeout: o.Pod.ReadyTimeout, MaxWarmUps: o.Pod.MaxWarmUps, ScanInterval: o.Pod.ScanInterval, ForeignTTL: o.Pod.TTL, SupersededTTL: 30*time.Second + o.Pod.ScanInterval, TagTTL: o.Images.TTL,
		Endpoint:      endpoint.Options{MaxMessageSize: o.Limits.MaxMessageSize, Dial: p.config.Telemetry.DialOptions()},
		MaxConcurrent: wrapperConcurrency(o.Pod.MaxPerPod), StandbyProcesses: wrapperStandby(o.StandbyProcesses), PullSecrets: p.pullSecrets(), Meter: meter,
		Certificates: p.certificates, ImagesByReference: o.Pod.ImageForm == options.ImageFormReference,
		Events: events, Log: p.config.Log,
	})
	p.evaluator, err2 = podevaluator.New(podevaluator.Config{
		Reference: o.Reference, Resolver: p.resolver, Pods: p.manager, Meter: meter,
		MaxTime: func(reference string) time.Duration { return p.settings.For(reference).MaxEvaluationTime.Duration },
		Memo:    p.config.Memo, Deterministic: p.deterministic,
		Tracer: p.config.Telemetry.Traces.Tracer("github.com/krmfn/krmfn/function-runner"),
	})
	if err := errors.Join(err1, err2, p.images.Observe(meter)); err != nil {
		return fmt.Errorf("make the metrics: %w", err)
	}
	p.warmer = podevaluator.NewWarmer(ctx, p.evaluator, podevaluator.WarmUp{
		AtStart: p.atStart, Interval: o.Pod.ScanInterval, Log: p.config.Log,
		Always: func() []string { return p.settings.All(func(s podcacheconfig.Settings) bool { return s.MinPods > 0 }) },
	})
	p.background = append(p.background, p.warmer.Run, func(ctx context.Context) { p.templates.Watch(ctx, p.templateChanged) })
	p.reload("pod_settings", o.Pod.CacheConfig, p.settings.Load, p.manager.Changed)
	if o.Pod.Patches != "" {
		p.reload("function_pods", o.Pod.Patches, p.patches.Load, p.manager.Changed)
	}
	return nil
}

func (p *Pods) atStart() []string {
	if !p.config.Options.Pod.WarmUp {
		return nil
	}
	return p.settings.All(func(podcacheconfig.Settings) bool { return true })
}

// Run manages the pods until ctx ends, which must happen after the last call. It calls ready when calls can be evaluated.
func (p *Pods) Run(ctx context.Context, ready func()) error {
	defer p.trust.CloseIdleConnections()
	defer p.close()
	defer p.warmer.Close()
	var group sync.WaitGroup
	defer group.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, run := range p.background {
		group.Go(func() { run(ctx) })
	}
	group.Go(func() { p.tellReady(ctx, ready) })
	return p.manager.Run(ctx)
}

// tellReady calls ready when the manager knows the pods, the FunctionConfig objects are applied, and the pull secret was attempted.
func (p *Pods) tellReady(ctx context.Context, ready func()) {
	conditions := []<-chan struct{}{p.manager.Synced()}
	if p.secret != nil {
		conditions = append(conditions, p.secret.Tried())
	}
	if p.configs != nil {
		conditions = append(conditions, p.configs.Tried())
	}
	for _, condition := range conditions {
		select {
		case <-condition:
		case <-ctx.Done():
			return
		}
	}
	ready()
}

// reload watches a file in the background, calls load when the file may have changed, and then calls then, unless it is nil, if load
// reports a change.
func (p *Pods) reload(config, file string, load func() (changed bool, err error), then func()) {
	reloaded := p.reloaded(config)
	p.background = append(p.background, func(ctx context.Context) {
		err := configfile.Watch(ctx, file, p.config.Log, func() {
			changed, err := load()
			if reloaded(changed, err); changed && then != nil {
				then()
			}
		})
		if err != nil {
			p.config.Log.Warn("changes of a file take effect at the next start only", "config", config, "file", file, "err", err)
		}
	})
}

// reloaded returns a function that records the reloads of a configuration.
func (p *Pods) reloaded(config string) func(changed bool, err error) {
	return func(changed bool, err error) { p.config.Telemetry.Reloads.Record(config, changed, err) }
}

// Evaluate evaluates a function in one of its pods; see podevaluator.Evaluator.
func (p *Pods) Evaluate(ctx context.Context, req evaluation.Request) (evaluation.Response, error) {
	return p.evaluator.Evaluate(ctx, req)
}

// Prepare starts a pod for an image without a pod, and does not wait for it.
func (p *Pods) Prepare(ctx context.Context, name string) *evaluatorv1.PreparedFunction {
	return p.warmer.Prepare(ctx, name)
}

// List returns the functions that have pods, waiting calls or a failure.
func (p *Pods) List() []*evaluatorv1.Function {
	known := p.manager.Functions()
	list := make([]*evaluatorv1.Function, 0, len(known))
	for _, f := range known {
		list = append(list, &evaluatorv1.Function{
			Name: reference.BaseName(f.Reference), Evaluator: evaluationv1.Evaluator_EVALUATOR_POD, Images: []string{f.Reference}, Pods: podsOf(f),
		})
	}
	return list
}

func podsOf(f podmanager.Function) *evaluatorv1.FunctionPods {
	s := f.Stats
	pods := &evaluatorv1.FunctionPods{
		Digest: f.Digest, Starting: int32(s.Starting), Ready: int32(s.Ready), Unreachable: int32(s.Unreachable), Leaving: int32(s.Leaving), //nolint:gosec // G115: they are few
		Running: int32(s.Running), Waiting: int32(s.Waiting), //nolint:gosec // G115: they are bounded
	}
	if f.Median > 0 {
		pods.MedianDuration = durationpb.New(f.Median)
	}
	if s.LastFailure != nil {
		pods.LastFailure = strings.ReplaceAll(s.LastFailure.Error(), "\n", " ")
	}
	return pods
}

// wrapperImageVariable is the environment variable with the image of the wrapper server.
const wrapperImageVariable = "WRAPPER_SERVER_IMAGE"

// traceVariables configure the export and sampling of traces. Variables that may contain credentials are excluded, because everybody with
// read access to pods could see them.
var traceVariables = []string{
	"OTEL_TRACES_EXPORTER", "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
	"OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
}

// traced returns the variables that make wrapper servers export traces like this process.
func traced(environ []string) []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && slices.Contains(traceVariables, name) {
			env = append(env, corev1.EnvVar{Name: name, Value: value})
		}
	}
	slices.SortFunc(env, func(a, b corev1.EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return env
}
