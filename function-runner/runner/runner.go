// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package runner assembles a function runner: the evaluators, their chain, and the gRPC server.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"sync/atomic"

	"go.opentelemetry.io/otel/metric"
	"golang.org/x/sync/errgroup"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/function-runner/internal/memo"
	"github.com/krmfn/krmfn/function-runner/internal/service"
	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/porch"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/process/worker"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/internal/server/memory"
	"github.com/krmfn/krmfn/internal/server/telemetry"
	"github.com/krmfn/krmfn/internal/server/validation"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
)

// Executable is a function with a local executable.
type Executable = exec.Executable

// Telemetry exports metrics and traces.
type Telemetry = telemetry.Telemetry

// Config configures a runner.
type Config struct {
	Options options.Options
	// Functions are functions with executables in addition to those of the config file.
	Functions []Executable
	// Environ is the environment of the runner. Functions inherit only harmless variables from it.
	Environ []string
	// Pods is the pod evaluator. It is required unless pods are disabled.
	Pods Pods
	// Telemetry exports metrics and traces. It may be nil. There are no metrics if it is not active.
	Telemetry *Telemetry
	// Processes runs executables. Nil makes New create a runner of processes.
	Processes *process.Runner
	// Memo caches the results of deterministic executables. Nil disables the result cache.
	Memo *memo.Cache
	// Memory divides the memory between the runner and its executables. The zero value means shares of the cgroup's limit.
	Memory memory.Shares
	// ReapOrphans makes the process reap orphaned child processes of functions. Other child processes of this process must then stay in
	// its session.
	ReapOrphans bool
	// Last reports whether no other function runner serves the callers, for grpcserver.Options. Nil means false.
	Last func(ctx context.Context) bool
	// Guard configures the security of connections and the authorization of callers.
	Guard grpcserver.Guard
	// Log gets one line for each evaluation, reload and step of the shutdown.
	Log *slog.Logger
}

// Pods evaluates functions in pods of a cluster.
type Pods interface {
	evaluation.Evaluator
	service.Functions
	// Configure sets the function that gets all executables of FunctionConfig objects after each change, while Run runs. These
	// executables take precedence over all others.
	Configure(put func(functions []Executable))
	// Run manages the pods until ctx ends, and calls ready when calls can be evaluated. It returns an error if it cannot manage them.
	Run(ctx context.Context, ready func()) error
}

// NewProcesses returns a runner of executables with the limits in the options. executables is the memory for all executables, in bytes.
// The log gets a line when a function no longer gets standby processes.
func NewProcesses(o options.Options, executables int64, log *slog.Logger) *process.Runner {
	most, _ := process.StandbyShare(executables)
	standby := process.Standby{Processes: min(o.StandbyProcesses, most), Total: most, Log: log}
	return process.NewRunner(process.Options{Limits: process.Limits{Stdout: int64(o.Limits.MaxMessageSize)}, Standby: standby})
}

// NewMemo returns a result cache with the size in the options, or nil if the size is 0. It fails if a metric cannot be registered.
func NewMemo(o options.Options, metrics metric.MeterProvider) (*memo.Cache, error) {
	if o.Limits.ResultCache.IsZero() {
		return nil, nil //nolint:nilnil // a nil cache keeps nothing
	}
	return memo.New(o.Limits.ResultCache.Value(), metrics.Meter("github.com/krmfn/krmfn/function-runner"))
}

// Runner is a configured function runner.
type Runner struct {
	config    Config
	processes *process.Runner
	workers   *worker.Pool
	exec      *exec.Evaluator
	loader    *exec.Loader
	server    *grpcserver.Server
	// inFlight limits the memory for the requests of all calls.
	inFlight *middleware.Budget
	// pods is nil without a pod evaluator. podsReady reports that the pod evaluator can evaluate calls.
	pods      Pods
	podsReady atomic.Bool
}

// HeapShare is the function runner's share of the memory limit. Executables get the larger share, because parsed ResourceLists in
// functions take many times the memory of the request.
const HeapShare = .4

const (
	// heldPerByte is the memory that a call may take per byte of its request: the request, the response and the copies for receiving and
	// sending them, which "make bench" measures, plus memory that the garbage collector has not freed yet.
	heldPerByte = 6
	// perWorker is the memory of executables per worker, in bytes. An idle worker takes a third of it. Calls that need much memory end
	// idle workers.
	perWorker = 64 << 20
	// workersPerProcessor is the maximum number of workers per processor. It allows several functions to keep workers while they are used
	// in turn.
	workersPerProcessor = 4
	// maxWaiting is the maximum number of calls that wait for memory. A waiting call is cheap until its request is read.
	maxWaiting = 1000
)

// New returns a runner and loads its configuration. It fails if the configuration is invalid.
func New(ctx context.Context, c Config) (*Runner, error) {
	if c.Options.Enabled(options.RuntimePod) && c.Pods == nil {
		return nil, errors.New("this function runner has no pod evaluator: add --disable-runtimes=pod")
	}
	if c.Memory == (memory.Shares{}) {
		c.Memory = memory.Divide(HeapShare)
	}
	kept := c.Options.Limits.ResultCache.Value()
	if kept > c.Memory.Heap/2 {
		return nil, fmt.Errorf("--result-cache-size is %d bytes, more than half of the %d that are the function runner's own: make it smaller, or the memory limit larger", kept, c.Memory.Heap)
	}
	inFlight := cmp.Or(c.Options.Limits.MaxBytesInFlight, (c.Memory.Heap-kept)/heldPerByte)
	r := &Runner{config: c, processes: c.Processes, inFlight: middleware.NewBudget(inFlight, maxWaiting)}
	if r.processes == nil {
		r.processes = NewProcesses(c.Options, c.Memory.Executables, c.Log)
	}
	r.workers = worker.NewPool(r.processes, worker.Options{
		PerCommand: process.Processors(),
		Total:      r.maxWorkers(),
		Log:        c.Log,
	})
	if c.Options.Enabled(options.RuntimePod) {
		r.pods = c.Pods
		r.pods.Configure(r.configure)
	}
	evaluator, err := r.evaluator()
	if err != nil {
		return nil, err
	}
	if r.loader != nil {
		if err := r.loader.Load(); err != nil {
			return nil, err
		}
	}
	// The server starts goroutines, which end with Serve.
	if r.server, err = r.newServer(ctx); err != nil {
		return nil, err
	}
	evaluatorgrpc.RegisterFunctionEvaluatorServer(r.server, &porch.Server{
		Evaluator: evaluator, Error: service.ErrorStatus, Failure: service.FailureStatus,
	})
	evaluatorv1grpc.RegisterFunctionEvaluatorServiceServer(r.server, &service.Evaluator{
		Evaluator: evaluator, Functions: &functions{exec: r.exec, pods: r.pods},
		Budget: r.inFlight, MaxListSize: c.Options.Limits.MaxListSize, MaxMessageSize: c.Options.Limits.MaxMessageSize,
	})
	r.updateHealth()
	return r, nil
}

func (r *Runner) maxWorkers() int {
	return min(int(r.config.Memory.Executables/perWorker), workersPerProcessor*process.Processors())
}

// evaluator returns the chain of evaluators with deadlines, metrics and log lines.
func (r *Runner) evaluator() (evaluation.Evaluator, error) {
	o := r.config.Options
	var chain []evaluation.Evaluator
	executables := r.config.Memory.Executables
	if o.StandbyProcesses > 0 {
		_, executables = process.StandbyShare(executables)
	}
	limits := exec.Limits{
		Gate:   middleware.NewGate(o.Limits.MaxConcurrent, o.Limits.MaxQueued),
		Memory: process.NewMemory(executables, o.Limits.MaxConcurrent),
		Memo:   r.config.Memo,
	}
	r.exec = exec.New(r.workers, limits, process.RunnerEnvironment(r.config.Environ), o.DefaultImagePrefix, r.config.Log, r.config.Functions...)
	if o.Enabled(options.RuntimeExec) {
		chain = append(chain, r.exec)
		if o.Exec.Config != "" {
			file := exec.Config{
				File: o.Exec.Config, Dir: o.Exec.Functions, Strict: o.Exec.Strict, Tags: exec.Tags(o.Exec.Tags), Changed: r.updateHealth, Reloaded: r.reloaded,
			}
			r.loader = exec.NewLoader(r.exec, file)
		}
	}
	if r.pods != nil {
		chain = append(chain, r.pods)
	}
	if len(chain) == 0 {
		r.config.Log.Warn("no evaluator is enabled, every call will be answered with NotFound")
	}
	evaluator := middleware.InTime(middleware.WithMaximumTime(evaluation.Chain(chain...), o.Limits.MaxEvaluationTime))
	if t := r.config.Telemetry; t != nil && t.Active {
		var err error
		if evaluator, err = telemetry.WithMetrics(evaluator, t.Metrics); err != nil {
			return nil, fmt.Errorf("make the metrics: %w", err)
		}
		budgets := map[string]*middleware.Budget{"requests": r.inFlight, "executables": limits.Memory.Budget}
		err = errors.Join(telemetry.ObserveBudgets(t.Metrics, budgets), telemetry.ObserveGates(t.Metrics, map[string]*middleware.Gate{"executables": limits.Gate}),
			telemetry.ObserveWorkers(t.Metrics, r.workers.Stats, r.maxWorkers()), telemetry.ObserveStandby(t.Metrics, r.processes))
		if err != nil {
			return nil, fmt.Errorf("make the metrics: %w", err)
		}
	}
	log := telemetry.Logger(grpcserver.Logger(r.config.Log))
	return middleware.WithLog(evaluator, log, middleware.LogOptions{FailureReasons: o.Log.FailureReasons}), nil
}

func (r *Runner) newServer(ctx context.Context) (*grpcserver.Server, error) {
	validated, err := validation.Interceptors(evaluatorv1.File_krmfn_evaluator_v1_evaluator_proto)
	if err != nil {
		return nil, err
	}
	return grpcserver.New(ctx, grpcserver.Options{
		MaxMessageSize: r.config.Options.Limits.MaxMessageSize,
		Budget:         r.inFlight,
		Drain:          r.config.Options.DrainTimeout,
		Linger:         r.config.Options.ShutdownDelay,
		Last:           r.config.Last,
		Guard:          r.config.Guard,
		Logger:         r.config.Log,
		Server:         slices.Concat(validated, r.config.Telemetry.ServerOptions()),
	}), nil
}

// updateHealth sets the health to SERVING if calls can succeed. With a pod evaluator, this is when the manager knows its pods. Otherwise,
// there must be a function.
func (r *Runner) updateHealth() {
	if r.server == nil {
		return
	}
	if r.pods != nil {
		r.server.SetServing(r.podsReady.Load())
		return
	}
	r.server.SetStarted()
	r.server.SetServing(r.config.Options.Enabled(options.RuntimeExec) && len(r.exec.Functions()) > 0)
}

// configure applies the functions that objects of the cluster configure.
func (r *Runner) configure(functions []Executable) {
	if r.exec.Configure(functions) {
		r.updateHealth()
	}
}

// Serve serves calls on the listener until ctx ends, and then waits for running calls within the drain timeout. It returns nil after a
// shutdown.
func (r *Runner) Serve(ctx context.Context, listener net.Listener) error {
	defer r.processes.Close()
	defer r.workers.Close()
	r.config.Log.Info("serving", "address", listener.Addr().String(), "functions", len(r.exec.Functions()))
	// Manage the pods until the last call has ended.
	podsCtx, leavePods := context.WithCancel(context.WithoutCancel(ctx))
	defer leavePods()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer leavePods()
		if err := r.server.Serve(ctx, listener); err != nil {
			return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
		}
		return nil
	})
	if r.pods != nil {
		group.Go(func() error { return r.pods.Run(podsCtx, r.podsAreReady) })
	}
	if r.loader != nil {
		group.Go(func() error { return r.loader.Watch(ctx) })
	}
	if r.config.ReapOrphans {
		group.Go(func() error {
			if err := r.processes.Reap(ctx); err != nil {
				r.config.Log.Warn("orphaned processes are not collected", "err", err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (r *Runner) reloaded(changed bool, err error) {
	if t := r.config.Telemetry; t != nil {
		t.Reloads.Record("executables", changed, err)
	}
}

func (r *Runner) podsAreReady() {
	r.podsReady.Store(true)
	r.updateHealth()
}
