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
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/krmfn/wrapper/v1/wrapperv1grpc"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	wrapperv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/wrapper/v1"
	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

// Change changes a pod, as scheduler and kubelet do. A pod that has gone is left alone.
func (c *Cluster) Change(name string, change func(*corev1.Pod)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if pod, ok := c.objects[pods][name].(*corev1.Pod); ok {
		changed := pod.DeepCopy()
		change(changed)
		c.change(pods, changed)
	}
}

// Run gives a pod a node and an address, starts its wrapper server and says that it is ready.
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

// Ready says whether the kubelet holds a pod for ready.
func (c *Cluster) Ready(name string, status corev1.ConditionStatus) {
	c.Change(name, func(p *corev1.Pod) { setReady(p, status) })
}

func setReady(p *corev1.Pod, status corev1.ConditionStatus) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status}}
}

// Waits says that the function's container waits, and why.
func (c *Cluster) Waits(name, reason, message string) {
	c.Change(name, func(p *corev1.Pod) {
		p.Spec.NodeName = "node"
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "function", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
		}}}
	})
}

// RefuseImageVolumes has the kubelet start no pod that mounts an image. Others run.
func (c *Cluster) RefuseImageVolumes() {
	c.Kubelet(func(name string) {
		if pod := c.Pod(name); pod != nil && podtemplate.HasImageVolume(pod) {
			c.Waits(name, "CreateContainerError", `failed to mount "/wrapper-server-tools"`)
			return
		}
		c.Run(name)
	})
}

// Wrapper returns the wrapper server of a pod; nil where none runs.
func (c *Cluster) Wrapper(name string) *Wrapper {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wrappers[name]
}

// terminate has a pod end as one does that is deleted: its wrapper server finishes what it runs and takes nothing new.
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

// Wrapper is the wrapper server of a pod. Without a handler its function returns its input.
type Wrapper struct {
	wrapperv1grpc.UnimplementedFunctionServiceServer
	// IP is the pod's address, and Target is what the pod is.
	IP     string
	Target wrapperapi.Target

	mu      sync.Mutex
	handler Handler
	refuses bool
	// drained says that no call may begin any more; running has those that have.
	drained bool
	running sync.WaitGroup
	// calls is how many have run, and now how many do. room is how many may; 0 for any number.
	calls, now, room int
	server           *grpc.Server
	health           *health.Server
	network          *hanging
	serving          sync.WaitGroup
}

// Start has the server listen; one that does already is left alone.
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

// Kill ends the server, its connections and the calls that run, without a word.
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

// Drain says that the server does not serve any more, refuses new calls and returns when none runs.
func (w *Wrapper) Drain() {
	w.Refuse(true, false)
	w.mu.Lock()
	w.drained = true
	w.mu.Unlock()
	w.running.Wait()
}

// Refuse has new calls refused, or not, and the server say whether it serves.
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

// Handle has the function run by a handler.
func (w *Wrapper) Handle(h Handler) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.handler = h
}

// Limit has calls refused for lack of room while so many run.
func (w *Wrapper) Limit(room int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.room = room
}

// Calls returns how many calls have run.
func (w *Wrapper) Calls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls
}

// target returns what the environment of a pod's function says.
func target(pod *corev1.Pod) wrapperapi.Target {
	t := wrapperapi.Target{PodUID: string(pod.UID)}
	for _, env := range pod.Spec.Containers[0].Env {
		if env.Name == wrapperapi.FunctionVariable {
			t.Function = env.Value
		}
	}
	return t
}

// direct refuses requests that are meant for another pod.
func (w *Wrapper) direct(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	if !w.Target.Matches(wrapperapi.TargetOf(md)) {
		_ = grpc.SetTrailer(ctx, wrapperapi.Misdirection())
		return nil, status.Error(codes.Unavailable, "meant for another pod")
	}
	return handle(ctx, req)
}

// Hang has the server neither answer nor take anything, as on a node that is paused, or go on.
func (w *Wrapper) Hang(hang bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.network.hang(hang)
}

// Evaluate runs the function.
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

// ended ends a call.
func (w *Wrapper) ended(ctx context.Context) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now--
	_ = grpc.SetTrailer(ctx, wrapperapi.Load{Running: w.now}.Metadata())
	w.running.Done()
}
