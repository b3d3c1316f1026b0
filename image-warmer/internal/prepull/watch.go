// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

// syncTimeout is how long the API server may take until it tells of pods.
const syncTimeout = 30 * time.Second

// watcher follows the pods of one run by one watch.
type watcher struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	pods map[string]*followed
}

type followed struct {
	tracker tracker
	done    bool
	// changes has the latest state that was not looked at.
	changes chan state
}

// watch returns a watcher that knows of the pods that there are. It must be closed.
func (p *Puller) watch(ctx context.Context) (*watcher, error) {
	w := &watcher{pods: map[string]*followed{}}
	informer := client.NewInformer(p.Client, &corev1.Pod{}, functionpod.WarmerLabel+"="+p.Run)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { w.see(object, false) },
		UpdateFunc: func(_, object any) { w.see(object, false) },
		DeleteFunc: func(object any) { w.see(object, true) },
	})
	if err != nil {
		return nil, fmt.Errorf("watch pods: %w", err)
	}
	// Pods are deleted after the run was told to end, and until then the watch goes on.
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	w.cancel = cancel
	w.running.Go(func() { informer.RunWithContext(running) })
	limited, end := context.WithTimeoutCause(ctx, syncTimeout,
		fmt.Errorf("pods in namespace %s cannot be watched: check the permissions (list and watch pods)", p.Namespace))
	defer end()
	if !cache.WaitForCacheSync(limited.Done(), informer.HasSynced) {
		w.close()
		return nil, context.Cause(limited)
	}
	return w, nil
}

// close ends the watch and waits for it.
func (w *watcher) close() {
	w.cancel()
	w.running.Wait()
}

// follow has the states of a pod handed on, which is not made yet. forget must be called.
func (w *watcher) follow(name string) *followed {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := &followed{changes: make(chan state, 1)}
	w.pods[name] = f
	return f
}

func (w *watcher) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.pods, name)
}

// see takes a change. The informer calls it for one after another.
func (w *watcher) see(object any, deleted bool) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	f, ok := w.pods[pod.Name]
	if !ok || f.done {
		return
	}
	now := f.tracker.observe(pod)
	if deleted && !now.done {
		now = state{done: true, err: errDeleted}
	}
	f.done = now.done
	select {
	case <-f.changes:
	default:
	}
	f.changes <- now
}

var (
	errDeleted  = &podstatus.Problem{Reason: "Deleted", Message: "somebody has deleted the pod"}
	errCanceled = errors.New("the image warmer was told to end")
)

// ended says why the context of all pulls has ended: somebody told the image warmer to end, or the cause says that time is over.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return errCanceled
	}
	return cause
}
