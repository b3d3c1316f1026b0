// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"

	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/images/tags"
	"github.com/krmfn/krmfn/internal/middleware"
	"github.com/krmfn/krmfn/internal/process"
	"github.com/krmfn/krmfn/internal/server/grpcserver"
	"github.com/krmfn/krmfn/internal/server/memory"
	"github.com/krmfn/krmfn/internal/server/telemetry"
	"github.com/krmfn/krmfn/internal/server/validation"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/taskhandler/v1/taskhandlerv1grpc"
	taskhandlerv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/taskhandler/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/task-handler/internal/multicall"
	"github.com/krmfn/krmfn/task-handler/internal/rendering"
	"github.com/krmfn/krmfn/task-handler/internal/service"
	"github.com/krmfn/krmfn/task-handler/options"
)

// config configures a task handler.
type config struct {
	// Options are the values of the flags.
	Options options.Options
	// Telemetry may be nil. If it is not active, nothing is measured.
	Telemetry *telemetry.Telemetry
	// Guard secures connections and authorises callers.
	Guard grpcserver.Guard
	// Functions is the path of the executable with the curated functions that run in processes.
	Functions string
	// Log receives one line for each render and each step of the shutdown.
	Log *slog.Logger
}

// handler is a task handler: the evaluator of functions, the renderer that uses it, and the gRPC server.
type handler struct {
	config config
	// curated are the curated functions that the task handler evaluates.
	curated function.Set
	// program evaluates functions in processes, which processes runs; both are nil if there are no such functions.
	program   *multicall.Program
	processes *process.Runner
	// runner is the connection to the function runner; nil if there is none.
	runner *grpc.ClientConn
	// registries lists the tags of images, and listed caches them.
	registries *registry.Client
	listed     *tags.Cache
	server     *grpcserver.Server
	// inFlight is the memory budget for the packages of all calls.
	inFlight *middleware.Budget
}

// heapShare returns the share of the memory limit for the task handler's own heap. Functions in processes have the rest.
func heapShare(o options.Options) float64 {
	if o.Builtin {
		return .6
	}
	return .9
}

// maxWaiting is the maximum number of calls that wait for memory.
const maxWaiting = 1000

// newHandler returns a task handler. The caller must call serve, which releases its resources. The function runner need not be reachable yet.
func newHandler(ctx context.Context, c config) (_ *handler, err error) {
	memory := memory.Divide(heapShare(c.Options))
	inFlight := cmp.Or(c.Options.Limits.MaxBytesInFlight, memory.Heap/service.MemoryPerByte)
	h := &handler{config: c, inFlight: middleware.NewBudget(inFlight, maxWaiting)}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	evaluator, err := h.evaluator(ctx, memory.Executables)
	if err != nil {
		return nil, err
	}
	renderer, err := h.renderer(ctx, evaluator)
	if err != nil {
		return nil, err
	}
	// The goroutines of the server end with serve.
	if h.server, err = h.newServer(ctx); err != nil {
		return nil, err
	}
	limits := c.Options.Limits
	maxPackageSize := largestPackage(limits, memory.Heap)
	if maxPackageSize < limits.MaxPackageSize {
		c.Log.Warn("the memory limit is too low for packages of --max-package-size, rejecting larger ones", "max_bytes", maxPackageSize)
	}
	// Packages that are being received take at most a quarter of the memory.
	receivers := max(memory.Heap/4/maxPackageSize, 2)
	taskhandlerv1grpc.RegisterTaskHandlerServiceServer(h.server, &service.TaskHandler{
		Renderer: renderer, Budget: h.inFlight, Receiving: middleware.NewGate(int(receivers), maxWaiting), MaxPackageSize: maxPackageSize, MaxFiles: limits.MaxPackageFiles, MaxMessageSize: limits.MaxMessageSize,
	})
	h.server.SetServing(false)
	return h, nil
}

// largestPackage returns the maximum size in bytes of a streamed package. A larger one would exhaust the memory and make other calls fail. It
// is at least the maximum size of a message.
func largestPackage(limits options.Limits, memory int64) int64 {
	return min(limits.MaxPackageSize, max(memory/service.MemoryPerByte, int64(limits.MaxMessageSize)))
}

// renderer returns the renderer, with limits, metrics and log lines.
func (h *handler) renderer(ctx context.Context, evaluator evaluation.Evaluator) (rendering.Renderer, error) {
	o := h.config.Options
	r := rendering.New(render.Options{
		Evaluator: evaluator, ImagePrefix: o.DefaultImagePrefix, Tags: h.tags(ctx), Parallel: o.Limits.MaxParallelPackages,
	})
	gate := middleware.NewGate(o.Limits.MaxConcurrent, o.Limits.MaxQueued)
	r = rendering.Limited(r, gate, o.Limits.MaxRenderTime)
	var metrics metric.MeterProvider = noop.NewMeterProvider()
	if h.measures() {
		metrics = h.config.Telemetry.Metrics
	}
	budgets, gates := map[string]*middleware.Budget{"requests": h.inFlight}, map[string]*middleware.Gate{"renders": gate}
	if p := h.program; p != nil {
		budgets["executables"], gates["executables"] = p.Memory.Budget, p.Gate
	}
	err := errors.Join(telemetry.ObserveBudgets(metrics, budgets), telemetry.ObserveGates(metrics, gates))
	if err != nil {
		return nil, fmt.Errorf("create the metrics: %w", err)
	}
	return rendering.Observed(r, metrics, telemetry.Logger(grpcserver.Logger(h.config.Log)), o.LogFailureReasons)
}

// measures reports whether metrics are exported.
func (h *handler) measures() bool { return h.config.Telemetry != nil && h.config.Telemetry.Active }

func (h *handler) newServer(ctx context.Context) (*grpcserver.Server, error) {
	serverOptions, err := validation.Interceptors(taskhandlerv1.File_krmfn_taskhandler_v1_taskhandler_proto)
	if err != nil {
		return nil, err
	}
	return grpcserver.New(ctx, grpcserver.Options{
		MaxMessageSize: h.config.Options.Limits.MaxMessageSize,
		Budget:         h.inFlight,
		Weigh:          service.Weight,
		Drain:          h.config.Options.DrainTimeout,
		Linger:         h.config.Options.ShutdownDelay,
		Guard:          h.config.Guard,
		Logger:         h.config.Log,
		Server:         append(serverOptions, h.config.Telemetry.ServerOptions()...),
	}), nil
}

// serve serves calls on the listener until ctx ends, and then finishes running calls within the drain timeout. It returns nil after a
// shutdown.
func (h *handler) serve(ctx context.Context, listener net.Listener) error {
	h.config.Log.Info("serving", "address", listener.Addr().String(), "function_runner", h.config.Options.FunctionRunner,
		"builtin_functions", h.config.Options.Builtin)
	group, watched := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := h.server.Serve(watched, listener); err != nil {
			return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
		}
		return nil
	})
	group.Go(func() error { h.watchHealth(watched); return nil })
	defer h.close()
	return group.Wait()
}

// close releases the resources of newHandler. No call may be running.
func (h *handler) close() {
	if h.listed != nil {
		h.listed.Close()
		h.registries.Close()
	}
	if h.runner != nil {
		_ = h.runner.Close()
	}
	if h.processes != nil {
		h.processes.Close()
	}
}
