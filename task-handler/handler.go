// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package handler puts a task handler together: the runtimes that evaluate functions, the renderer on top of them, and the
// gRPC server in front.
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

// config is all that a task handler needs to know.
type config struct {
	// Options are the settings.
	Options options.Options
	// Telemetry may be nil for none; where it is not active, nothing is measured.
	Telemetry *telemetry.Telemetry
	// Guard is how connections are secured, and who may call.
	Guard grpcserver.Guard
	// Functions is the path of krmfn's executable functions, for curated functions that need a process of their own.
	Functions string
	// Log gets one line for each render and step of the shutdown.
	Log *slog.Logger
}

// handler is a task handler that is ready to serve.
type handler struct {
	config config
	// curated are the functions that are evaluated here; without a Process, if in processes.
	curated function.Set
	// program runs functions in processes, by processes; both are nil for none.
	program   *multicall.Program
	processes *process.Runner
	// runner is the connection to the function runner; nil for none.
	runner *grpc.ClientConn
	// registries are asked for the tags of images.
	registries *registry.Client
	// listed are the tags that they have.
	listed *tags.Cache
	server *grpcserver.Server
	// inFlight is shared by the packages of all calls.
	inFlight *middleware.Budget
}

// heapShare returns the share of the memory limit that a task handler takes for itself. Functions in processes have the rest.
func heapShare(o options.Options) float64 {
	if o.Builtin {
		return .6
	}
	return .9
}

// maxWaiting is the maximum number of calls that wait for memory.
const maxWaiting = 1000

// newHandler returns a task handler, which must be served. Errors say what in the configuration is wrong. The function runner need not be there yet.
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
	// The server has goroutines from here on, which end with serve.
	if h.server, err = h.newServer(ctx); err != nil {
		return nil, err
	}
	limits := c.Options.Limits
	maxPackageSize := largestPackage(limits, memory.Heap)
	if maxPackageSize < limits.MaxPackageSize {
		c.Log.Warn("the memory limit is too low for packages of --max-package-size: larger ones are refused", "bytes", maxPackageSize)
	}
	// While packages are received they take a quarter of the memory.
	receivers := max(memory.Heap/4/maxPackageSize, 2)
	taskhandlerv1grpc.RegisterTaskHandlerServiceServer(h.server, &service.TaskHandler{
		Renderer: renderer, Budget: h.inFlight, Receiving: middleware.NewGate(int(receivers), maxWaiting), MaxPackageSize: maxPackageSize, MaxFiles: limits.MaxPackageFiles, MaxMessageSize: limits.MaxMessageSize,
	})
	h.server.SetServing(false)
	return h, nil
}

// largestPackage returns the most bytes of a streamed package: what is live of a larger one does not fit into the memory, so that it
// would take other calls down. As much as comes in one message may be streamed, too.
func largestPackage(limits options.Limits, memory int64) int64 {
	return min(limits.MaxPackageSize, max(memory/service.MemoryPerByte, int64(limits.MaxMessageSize)))
}

// renderer returns what renders, with what is added to every render.
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
		return nil, fmt.Errorf("make the metrics: %w", err)
	}
	return rendering.Observed(r, metrics, telemetry.Logger(grpcserver.Logger(h.config.Log)), o.LogFailureReasons)
}

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

// serve answers calls on the listener until ctx ends, and then finishes running calls within the drain time. It returns
// nil after a shutdown.
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

// close ends what newHandler has begun. No call may be running.
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
