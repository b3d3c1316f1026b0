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

// syncTimeout is the timeout for the first list of pods.
const syncTimeout = 30 * time.Second

// watcher watches the pods of one run.
type watcher struct {
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu   sync.Mutex
	pods map[string]*followed
}

type followed struct {
	tracker tracker
	done    bool
	// changes holds the latest state that was not received yet.
	changes chan state
}

// watch returns a watcher that has listed the existing pods. The caller must close it.
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
	// The watch continues after ctx has ended, until the pods are deleted.
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

// follow returns the states of a pod that will be created. Call forget afterwards.
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

// see processes a change. The informer calls it sequentially.
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
	errDeleted  = &podstatus.Problem{Reason: "Deleted", Message: "the pod was deleted by someone else"}
	errCanceled = errors.New("the image warmer is shutting down")
)

// ended returns the reason why the context of all pulls has ended: the shutdown of the image warmer, or the cause of a timeout.
func ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.Canceled) || errors.Is(cause, context.DeadlineExceeded) {
		return errCanceled
	}
	return cause
}
