// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/wrapperapi"
)

// longest is the maximum duration of one disturbance.
const longest = 40 * time.Second

// TestChaos disturbs pods and the API server while replicas call functions. Every response must come from the right function, a call may
// fail only because its pod was lost while it ran, no call may wait for more than longest plus 5 seconds, and no pod or pool may remain
// at the end.
func TestChaos(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T, c *simulation.Cluster) {
				w := &world{t: t, cluster: c, random: rand.New(rand.NewPCG(seed, 0)), end: time.Now().Add(6 * time.Minute)}
				w.run()
			})
		})
	}
}

type world struct {
	t       *testing.T
	cluster *simulation.Cluster
	random  *rand.Rand
	end     time.Time
	clients []*simulation.HangingClient
	work    sync.WaitGroup

	mu      sync.Mutex
	calls   int
	lost    int
	slowest time.Duration
}

func (w *world) run() {
	const replicas, functions = 3, 4
	w.cluster.Kubelet(func(name string) {
		w.cluster.Run(name)
		if wrapper := w.cluster.Wrapper(name); wrapper != nil {
			wrapper.Handle(func(_ context.Context, _ []byte) (*response, error) {
				time.Sleep(50 * time.Millisecond)
				return &response{ResourceList: []byte(wrapper.Target.Function)}, nil
			})
		}
	})
	all := make([]*replica, replicas)
	for i := range all {
		client := w.cluster.HangingClient()
		w.clients = append(w.clients, client)
		all[i] = start(w.t, w.cluster, func(config *Config) { config.Client.Pods = client })
		all[i].limit(func(l *Limits) { l.MaxPods, l.TTL = 3, 2*time.Minute })
	}
	for i, r := range all {
		for j := range functions {
			w.work.Go(func() { w.callers(r, numbered(j), time.Duration(300+137*i+31*j)*time.Millisecond) })
		}
		w.work.Go(func() {
			for time.Now().Before(w.end.Add(10 * time.Minute)) {
				time.Sleep(time.Minute)
				r.scan(w.t.Context())
			}
		})
	}
	for time.Now().Before(w.end) {
		time.Sleep(time.Duration(1+w.random.IntN(10)) * time.Second)
		w.disturb()
	}
	w.work.Wait()
	if w.slowest > longest+5*time.Second || w.calls < 1000 || w.lost > w.calls/100 {
		w.t.Errorf("of %d calls, %d were lost, and the slowest took %v", w.calls, w.lost, w.slowest)
	}
	if pods := names(w.cluster); len(pods) > 0 {
		w.t.Errorf("pods at the end = %v, want none", pods)
	}
	for i, r := range all {
		if len(r.byUID)+len(r.workloads) > 0 {
			w.t.Errorf("at the end, replica %d knows %d pods and %d pools, want none", i, len(r.byUID), len(r.workloads))
		}
	}
}

// callers calls a function repeatedly until the end.
func (w *world) callers(r *replica, reference string, pause time.Duration) {
	for time.Now().Before(w.end) {
		begin := time.Now()
		output, err := w.call(r, reference)
		w.mu.Lock()
		w.calls++
		w.slowest = max(w.slowest, time.Since(begin))
		switch want := wrapperapi.FunctionName(reference, digest("a")); {
		case errors.As(err, new(*endpoint.LostError)):
			w.lost++
		case err != nil:
			w.t.Errorf("call of %s after %v: error = %v, want none but a LostError", reference, time.Since(begin), err)
		case output != want:
			w.t.Errorf("call got the response of %s, want %s", output, want)
		}
		w.mu.Unlock()
		time.Sleep(pause)
	}
}

func (w *world) call(r *replica, reference string) (output string, err error) {
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	_, output, err = r.evaluate(ctx, reference, digest("a"))
	return output, err
}

// disturb starts one random disturbance, and reverts it later unless it is permanent.
func (w *world) disturb() {
	lasting := time.Duration(w.random.IntN(int(longest)))
	later := func(what func()) {
		w.work.Go(func() {
			time.Sleep(lasting)
			what()
		})
	}
	pods := w.cluster.Pods()
	if len(pods) == 0 {
		return
	}
	pod := pods[w.random.IntN(len(pods))].Name
	wrapper := w.cluster.Wrapper(pod)
	kind := w.random.IntN(8)
	if wrapper == nil && kind < 4 {
		return
	}
	switch kind {
	case 0:
		wrapper.Kill()
		later(func() { w.restart(pod, wrapper) })
	case 1:
		wrapper.Hang(true)
		later(func() { wrapper.Hang(false) })
	case 2:
		wrapper.Refuse(true, false)
		later(func() { wrapper.Refuse(false, true) })
	case 3:
		w.cluster.Ready(pod, corev1.ConditionFalse)
		later(func() { w.cluster.Ready(pod, corev1.ConditionTrue) })
	case 4:
		_ = w.cluster.Client.CoreV1().Pods(simulation.Namespace).Delete(w.t.Context(), pod, metav1.DeleteOptions{}) // it may not exist any more
	case 5:
		w.cluster.Change(pod, func(p *corev1.Pod) {
			p.Labels[functionpod.OrdinalLabel], p.Labels[functionpod.ImageLabel] = "9", "other"
		})
	case 6:
		w.cluster.Change(pod, func(p *corev1.Pod) { delete(p.Labels, functionpod.ImageLabel) })
	case 7:
		client := w.clients[w.random.IntN(len(w.clients))]
		client.Hang(true)
		later(func() { client.Hang(false) })
	}
}

// restart restarts the wrapper server of a pod, unless the pod was deleted and another pod may have its address.
func (w *world) restart(pod string, wrapper *simulation.Wrapper) {
	if w.cluster.Wrapper(pod) == wrapper {
		wrapper.Start(w.cluster)
	}
}
