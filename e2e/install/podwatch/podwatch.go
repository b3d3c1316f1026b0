// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podwatch records every function pod that appears and disappears during a test. Polling would miss pods with a short life.
package podwatch

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/krmfn/krmfn/e2e/install"
)

// Watch records function pods. It is safe for concurrent use.
type Watch struct {
	stop     context.CancelFunc
	informer informers.SharedInformerFactory

	mu      sync.Mutex
	live    map[types.UID]string // image by UID
	seen    map[types.UID]string // pod name by UID
	most    map[string]int       // maximum number of live pods by image
	deleted map[string]string    // image by pod name
}

// Start watches the function pods of an installation until Stop or until ctx is cancelled. It returns after it has recorded the existing
// pods.
func Start(ctx context.Context, client kubernetes.Interface, at install.Release) (*Watch, error) {
	ctx, stop := context.WithCancel(ctx)
	w := &Watch{
		stop: stop,
		informer: informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(at.FunctionNamespace),
			informers.WithTweakListOptions(func(o *metav1.ListOptions) { o.LabelSelector = install.ImageLabel })),
		live: map[types.UID]string{}, seen: map[types.UID]string{}, most: map[string]int{}, deleted: map[string]string{},
	}
	pods := w.informer.Core().V1().Pods().Informer()
	registration, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { w.see(obj) },
		UpdateFunc: func(_, obj any) { w.see(obj) },
		DeleteFunc: func(obj any) { w.gone(obj) },
	})
	if err != nil {
		stop()
		return nil, err
	}
	w.informer.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), registration.HasSynced) {
		w.Stop()
		return nil, errors.New("the watch for function pods ended before it began")
	}
	return w, nil
}

// Stop ends the watch. The records stay available.
func (w *Watch) Stop() {
	w.stop()
	w.informer.Shutdown()
}

func (w *Watch) see(obj any) {
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	image := pod.Annotations[install.ReferenceAnnotation]
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[pod.UID] = pod.Name
	// A pod that was terminating when the watch began does not count as deleted.
	if _, lived := w.live[pod.UID]; lived && pod.DeletionTimestamp != nil {
		w.deleted[pod.Name] = image
	}
	if !install.Live(pod) {
		delete(w.live, pod.UID)
		return
	}
	w.live[pod.UID] = image
	count := 0
	for of := range maps.Values(w.live) {
		if of == image {
			count++
		}
	}
	w.most[image] = max(w.most[image], count)
}

func (w *Watch) gone(obj any) {
	if last, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = last.Obj
	}
	pod, ok := obj.(*corev1.Pod)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if image, lived := w.live[pod.UID]; lived {
		w.deleted[pod.Name] = image
		delete(w.live, pod.UID)
	}
}

// Most returns the maximum number of live pods that a function had at the same time.
func (w *Watch) Most(image string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.most[image]
}

// Made returns the number of pods of all functions that have existed since the watch began.
func (w *Watch) Made() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.seen)
}

// Deleted returns the sorted names of a function's pods that were deleted since the watch began.
func (w *Watch) Deleted(image string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var names []string
	for name, of := range w.deleted {
		if of == image {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}
