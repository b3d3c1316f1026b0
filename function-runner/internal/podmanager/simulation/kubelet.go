// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package simulation

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/internal/wrapperapi"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
)

// Change changes a pod like the scheduler or the kubelet does. It ignores a pod that does not exist.
func (c *Cluster) Change(name string, change func(*corev1.Pod)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pod, ok := c.objects[pods][name].(*corev1.Pod); ok {
		changed := pod.DeepCopy()
		change(changed)
		c.change(pods, changed)
	}
}

// Run runs a pod: it sets a node and an address, starts the wrapper server, and reports the pod as ready.
func (c *Cluster) Run(name string) {
	w := &Wrapper{IP: c.network.Address()}
	c.mu.Lock()
	pod, _ := c.objects[pods][name].(*corev1.Pod)
	if pod == nil || pod.GetDeletionTimestamp() != nil || c.wrappers[name] != nil {
		c.mu.Unlock()
		return
	}
	c.wrappers[name] = w
	w.Target = target(pod)
	c.mu.Unlock()
	w.Start(c)
	c.Change(name, func(p *corev1.Pod) {
		p.Spec.NodeName, p.Status.PodIP, p.Status.Phase = "node", w.IP, corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "function", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
		setReady(p, corev1.ConditionTrue)
	})
}

// Ready sets the pod's Ready condition.
func (c *Cluster) Ready(name string, status corev1.ConditionStatus) {
	c.Change(name, func(p *corev1.Pod) { setReady(p, status) })
}

func setReady(p *corev1.Pod, status corev1.ConditionStatus) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
}

// Waits sets the function container's state to waiting, with a reason and a message.
func (c *Cluster) Waits(name, reason, message string) {
	c.Change(name, func(p *corev1.Pod) {
		p.Spec.NodeName = "node"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "function", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
		}}}
	})
}

// RefuseImageVolumes makes the kubelet reject pods with image volumes. Other pods run.
func (c *Cluster) RefuseImageVolumes() {
	c.Kubelet(func(name string) {
		if pod := c.Pod(name); pod != nil && podtemplate.HasImageVolume(pod) {
			c.Waits(name, "CreateContainerError", `failed to mount "/wrapper-server-tools"`)
			return
		}
		c.Run(name)
	})
}

// Wrapper returns the wrapper server of a pod, or nil if none is running.
func (c *Cluster) Wrapper(name string) *Wrapper {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrappers[name]
}

// terminate terminates a deleted pod: its wrapper server drains and stops.
func (c *Cluster) terminate(name string) {
	c.mu.Lock()
	terminated := c.terminated
	c.mu.Unlock()
	if terminated != nil {
		terminated(name)
	}
	if w := c.Wrapper(name); w != nil {
		w.Drain()
		w.Kill()
		if m, ok := c.network.(*memory); ok {
			m.release(w.IP)
		}
	}
	c.set(func() { c.remove(name) })
}

// Handler runs a function.
type Handler func(ctx context.Context, list []byte) (*wrapperv1.EvaluateResponse, error)

// Wrapper is the wrapper server of a pod. Without a handler, its function returns its input.
type Wrapper struct {
	wrapperv1grpc.UnimplementedFunctionServiceServer
	// IP is the address of the pod, and Target is the pod's identity.
	IP     string
	Target wrapperapi.Target

	mu      sync.Mutex
	handler Handler
	refuses bool
	// drained says that the server rejects new calls. running counts the calls in flight.
	drained bool
	running sync.WaitGroup
	// calls is the number of calls that have begun, now is the number of calls in flight, and room is the maximum of now. 0 means no
	// limit.
	calls, now, room int
	server           *grpc.Server
	health           *health.Server
	network          *hanging
	serving          sync.WaitGroup
}

// Start starts the server unless it is running.
func (w *Wrapper) Start(c *Cluster) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.server != nil {
		return
	}
	l, err := c.network.Listen(w.IP)
	if err != nil {
		c.t.Errorf("listen on %s: %v", w.IP, err)
		return
	}
	w.server, w.health = grpc.NewServer(grpc.UnaryInterceptor(w.direct), grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
		MinTime: time.Second, PermitWithoutStream: true,
	})), health.NewServer()
	wrapperv1grpc.RegisterFunctionServiceServer(w.server, w)
	grpc_health_v1.RegisterHealthServer(w.server, w.health)
	server, network := w.server, newHanging(l)
	w.network = network
	w.serving.Go(func() { _ = server.Serve(network) })
}

// Kill stops the server, its connections and its running calls at once.
func (w *Wrapper) Kill() {
	w.mu.Lock()
	server := w.server
	w.server = nil
	w.mu.Unlock()
	if server != nil {
		w.network.hang(false)
		server.Stop()
	}
	w.serving.Wait()
}

// Drain sets the health to NOT_SERVING, rejects new calls, and waits for the running ones.
func (w *Wrapper) Drain() {
	w.Refuse(true, false)
	w.mu.Lock()
	w.drained = true
	w.mu.Unlock()
	w.running.Wait()
}

// Refuse sets whether the server rejects new calls and whether it reports SERVING.
func (w *Wrapper) Refuse(refuse, serves bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuses = refuse
	if w.server == nil {
		return
	}
	state := grpc_health_v1.HealthCheckResponse_NOT_SERVING
	if serves {
		state = grpc_health_v1.HealthCheckResponse_SERVING
	}
	w.health.SetServingStatus("", state)
}

// Handle sets the handler that runs the function.
func (w *Wrapper) Handle(h Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handler = h
}

// Limit sets the maximum number of concurrent calls. The server rejects others as busy.
func (w *Wrapper) Limit(room int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room = room
}

// Calls returns the number of calls that have begun.
func (w *Wrapper) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// target returns the identity in the environment of a pod's function container.
func target(pod *corev1.Pod) wrapperapi.Target {
	t := wrapperapi.Target{PodUID: string(pod.UID)}
	for _, env := range pod.Spec.Containers[0].Env {
		if env.Name == wrapperapi.FunctionVariable {
			t.Function = env.Value
		}
	}
	return t
}

// direct rejects requests that are addressed to another pod.
func (w *Wrapper) direct(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if !w.Target.Matches(wrapperapi.TargetOf(md)) {
		_ = grpc.SetTrailer(ctx, wrapperapi.Misdirection())
		return nil, status.Error(codes.Unavailable, "meant for another pod")
	}
	return handle(ctx, req)
}

// Hang makes the server hang, like on a paused node, or resumes it.
func (w *Wrapper) Hang(hang bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.network.hang(hang)
}

// Evaluate implements wrapperv1grpc.FunctionServiceServer.
func (w *Wrapper) Evaluate(ctx context.Context, req *wrapperv1.EvaluateRequest) (*wrapperv1.EvaluateResponse, error) {
	w.mu.Lock()
	switch {
	case w.refuses || w.drained:
		w.mu.Unlock()
		_ = grpc.SetTrailer(ctx, wrapperapi.Refusal())
		return nil, status.Error(codes.Unavailable, "draining")
	case w.room > 0 && w.now >= w.room:
		w.mu.Unlock()
		_ = grpc.SetTrailer(ctx, wrapperapi.NoRoom())
		return nil, status.Error(codes.Unavailable, "busy")
	}
	w.calls++
	w.now++
	w.running.Add(1)
	handler, load := w.handler, wrapperapi.Load{Running: w.now}
	w.mu.Unlock()
	defer w.ended(ctx)
	_ = grpc.SendHeader(ctx, metadata.Join(wrapperapi.Begun(), load.Metadata()))
	if handler != nil {
		return handler(ctx, req.GetResourceList())
	}
	return &wrapperv1.EvaluateResponse{ResourceList: req.GetResourceList(), Evaluation: &evaluationv1.Evaluation{}}, nil
}

// ended ends a call and reports the remaining load.
func (w *Wrapper) ended(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now--
	_ = grpc.SetTrailer(ctx, wrapperapi.Load{Running: w.now}.Metadata())
	w.running.Done()
}
