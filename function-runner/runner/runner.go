// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package runner puts a function runner together: evaluators, the chain they form, and the gRPC server in front.
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
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"github.com/krmfn/krmfn/function-runner/internal/exec"
	"github.com/krmfn/krmfn/function-runner/internal/service"
	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/evaluator/v1/evaluatorv1grpc"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/memo"
	"github.com/krmfn/krmfn/services/evaluation/porch"
	"github.com/krmfn/krmfn/services/evaluation/process"
	"github.com/krmfn/krmfn/services/evaluation/process/worker"
	"github.com/krmfn/krmfn/services/server/grpcserver"
	"github.com/krmfn/krmfn/services/server/memory"
	"github.com/krmfn/krmfn/services/server/telemetry"
)

// Executable is a function with a local executable.
type Executable = exec.Executable

// Telemetry is where metrics and traces go.
type Telemetry = telemetry.Telemetry

// Config is all that a runner needs to know.
type Config struct {
	// Options are the settings.
	Options options.Options
	// Functions are further functions with executables, beside those of the config file.
	Functions []Executable
	// Environ is what functions may inherit from; they get only what is harmless in it.
	Environ []string
	// Pods is the pod evaluator. It must be there unless pods are disabled.
	Pods Pods
	// Telemetry may be nil for none; where it is not active, nothing is measured.
	Telemetry *Telemetry
	// Processes runs executables; nil for a runner of its own.
	Processes *process.Runner
	// Memo keeps the answers of executables that are deterministic; nil keeps none.
	Memo *memo.Cache
	// Memory is what the runner and its executables may use; zero means shares of the cgroup's limit.
	Memory memory.Shares
	// ReapOrphans makes the process collect what its functions leave behind. Children that others start must stay in this
	// process's session then.
	ReapOrphans bool
	// Last tells whether callers have no other function runner to go to, for grpcserver.Options; nil is never.
	Last func(ctx context.Context) bool
	// Guard is how connections are secured, and who may call.
	Guard grpcserver.Guard
	// Server has further options of the gRPC server, such as the validation of Requests.
	Server []grpc.ServerOption
	// Log gets one line for each evaluation, reload and step of the shutdown.
	Log *slog.Logger
}

// Pods evaluates functions in pods of a cluster.
type Pods interface {
	evaluation.Evaluator
	service.Functions
	// Configure sets the function that gets all executables of FunctionConfig objects after each change, while Run runs. They
	// take precedence over all others.
	Configure(put func(functions []Executable))
	// Run keeps the pods until ctx ends, and calls ready once calls can be answered. The error is that it cannot.
	Run(ctx context.Context, ready func()) error
}

// NewProcesses returns what runs executables, within the limits that options give and the memory of all executables, in bytes. Log is
// told of functions that are not started ahead of their calls any more.
func NewProcesses(o options.Options, executables int64, log *slog.Logger) *process.Runner {
	spares, _ := process.Spares(executables)
	standby := process.Standby{Processes: min(o.StandbyProcesses, spares), Total: spares, Log: log}
	return process.NewRunner(process.Options{Limits: process.Limits{Stdout: int64(o.Limits.MaxMessageSize)}, Standby: standby})
}

// NewMemo returns what keeps answers, within the limit that options give; nil where that is none. The error is that the metrics cannot be
// made.
func NewMemo(o options.Options, metrics metric.MeterProvider) (*memo.Cache, error) {
	if o.Limits.ResultCache.IsZero() {
		return nil, nil //nolint:nilnil // a nil cache keeps nothing
	}
	return memo.New(o.Limits.ResultCache.Value(), metrics.Meter("github.com/krmfn/krmfn/function-runner"))
}

// Runner is a function runner that is ready to serve.
type Runner struct {
	config    Config
	processes *process.Runner
	workers   *worker.Pool
	exec      *exec.Evaluator
	loader    *exec.Loader
	server    *grpcserver.Server
	// inFlight is shared by the requests of all calls.
	inFlight *evaluation.Budget
	// pods is nil without a pod evaluator; podsReady says that it answers calls.
	pods      Pods
	podsReady atomic.Bool
}

// HeapShare is the share of the memory limit that a function runner takes for itself. Functions that run as executables need more
// than the runner: their lists take many times as much memory there.
const HeapShare = .4

const (
	// heldPerByte is how many bytes of memory a call may take for each byte of its request: the request, the answer, and the copies
	// that are made when they are read and written, which BenchmarkRunnerMemory in e2e/bench measures to be 3.5; and what the garbage
	// collector has yet to collect.
	heldPerByte = 6
	// perWorker is the memory of executables, in bytes, for which there is one worker, which has a third of it while it is idle. Calls
	// that need much memory end idle workers.
	perWorker = 64 << 20
	// workersPerProcessor is how many workers there may be for each processor: those of some functions that are used in turn.
	workersPerProcessor = 4
	// maxWaiting is how many calls may wait for their part of the memory. Each costs little until it is read.
	maxWaiting = 1000
)

// New returns a runner with its configuration loaded. Errors say what in the configuration is wrong.
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
	r := &Runner{config: c, processes: c.Processes, inFlight: evaluation.NewBudget(inFlight, maxWaiting)}
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
	// The server has goroutines from here on, which end with Serve.
	r.server = r.newServer(ctx)
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

// evaluator returns the chain with what is added to every evaluation: its deadline, the metrics and the log line.
func (r *Runner) evaluator() (evaluation.Evaluator, error) {
	o := r.config.Options
	var chain []evaluation.Evaluator
	executables := r.config.Memory.Executables
	if o.StandbyProcesses > 0 {
		_, executables = process.Spares(executables)
	}
	limits := exec.Limits{
		Gate:   evaluation.NewGate(o.Limits.MaxConcurrent, o.Limits.MaxQueued),
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
	evaluator := evaluation.InTime(evaluation.WithMaximumTime(evaluation.Chain(chain...), o.Limits.MaxEvaluationTime))
	if t := r.config.Telemetry; t != nil && t.Active {
		var err error
		if evaluator, err = telemetry.WithMetrics(evaluator, t.Metrics); err != nil {
			return nil, fmt.Errorf("make the metrics: %w", err)
		}
		budgets := map[string]*evaluation.Budget{"requests": r.inFlight, "executables": limits.Memory.Budget}
		err = errors.Join(telemetry.ObserveBudgets(t.Metrics, budgets), telemetry.ObserveGates(t.Metrics, map[string]*evaluation.Gate{"executables": limits.Gate}),
			telemetry.ObserveWorkers(t.Metrics, r.workers.Stats, r.maxWorkers()), telemetry.ObserveStandby(t.Metrics, r.processes))
		if err != nil {
			return nil, fmt.Errorf("make the metrics: %w", err)
		}
	}
	return evaluation.WithLog(evaluator, telemetry.Logger(grpcserver.Logger(r.config.Log)), slog.LevelInfo), nil
}

// Requests returns an empty message of each type of request whose proto file has validation rules.
func Requests() []proto.Message {
	return []proto.Message{
		&evaluatorv1.EvaluateRequest{}, &evaluatorv1.EvaluateStreamRequest{}, &evaluatorv1.PrepareRequest{}, &evaluatorv1.ListFunctionsRequest{},
	}
}

func (r *Runner) newServer(ctx context.Context) *grpcserver.Server {
	return grpcserver.New(ctx, grpcserver.Options{
		MaxMessageSize: r.config.Options.Limits.MaxMessageSize,
		Budget:         r.inFlight,
		Drain:          r.config.Options.DrainTimeout,
		Linger:         r.config.Options.ShutdownDelay,
		Last:           r.config.Last,
		Guard:          r.config.Guard,
		Logger:         r.config.Log,
		Server:         slices.Concat(r.config.Server, r.config.Telemetry.ServerOptions()),
	})
}

// updateHealth tells clients whether any call can succeed. Without a function it cannot; with a pod evaluator it can once that
// knows its pods, which is all that a start takes time for.
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

// configure puts functions in force that objects of the cluster configure.
func (r *Runner) configure(functions []Executable) {
	if r.exec.Configure(functions) {
		r.updateHealth()
	}
}

// Serve answers calls on the listener until ctx ends, and then finishes running calls within the drain time. It returns
// nil after a shutdown.
func (r *Runner) Serve(ctx context.Context, listener net.Listener) error {
	defer r.processes.Close()
	defer r.workers.Close()
	r.config.Log.Info("serving", "address", listener.Addr().String(), "functions", len(r.exec.Functions()))
	// The pods are kept until the last call has ended.
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
