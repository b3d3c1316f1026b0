// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package watch has one run of the image warmer follow another: for all nodes at the start and after each interval, for nodes that
// join or become able to pull at once, and again for what has failed.
package watch

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/internal/cluster/client"
)

// Config is what Run needs.
type Config struct {
	// Nodes tells of nodes; nil where none pull.
	Nodes client.Watchable[*corev1.NodeList]
	// Selector and Tolerations choose the nodes, as prepull.Nodes and prepull.NewPlan take them.
	Selector    string
	Tolerations []corev1.Toleration
	// Interval is the time between two runs for all nodes, and the longest time until what has failed is tried again.
	Interval time.Duration
	// Warm makes one run: for the nodes of these names, or for all where they are nil. It is called by one goroutine.
	Warm func(ctx context.Context, nodes []string) *report.Report
	// Recovered is called after the run for the last of the nodes that have failed: all that the run for all nodes left undone is done.
	Recovered func()
	Log       *slog.Logger
}

const (
	// all is what the queue has instead of the name of a node for a run for all nodes. No node has this name.
	all = ""
	// firstRetry is how long what has failed for the first time waits.
	firstRetry = time.Minute
)

// loop is one Run.
type loop struct {
	Config
	// queue has the names of nodes that wait for a run. A name is in it once.
	queue workqueue.TypedRateLimitingInterface[string]
	// failing are the keys of the queue whose last run has failed.
	failing map[string]bool
}

// Run warms until ctx ends, and waits for the run that it interrupts. The error says that nodes cannot be watched.
func Run(ctx context.Context, c Config) error {
	l := &loop{Config: c, failing: map[string]bool{}, queue: workqueue.NewTypedRateLimitingQueue(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](min(firstRetry, c.Interval), c.Interval))}
	defer l.queue.ShutDown()
	defer context.AfterFunc(ctx, l.queue.ShutDown)()
	if c.Nodes != nil {
		end, err := l.follow(ctx)
		if err != nil {
			return err
		}
		defer end()
	}
	l.queue.Add(all)
	for {
		keys, more := l.next()
		if !more || ctx.Err() != nil {
			return nil
		}
		nodes := keys
		if slices.Contains(keys, all) {
			nodes = nil
		}
		l.settle(keys, c.Warm(ctx, nodes))
	}
}

// next waits for something to do and returns all of it, or that there is no more.
func (l *loop) next() (keys []string, more bool) {
	for {
		key, end := l.queue.Get()
		if end {
			return nil, false
		}
		if keys = append(keys, key); l.queue.Len() == 0 {
			return keys, true
		}
	}
}

// settle has what has failed come again, each time later, and the next run for all nodes follow one that is done.
func (l *loop) settle(keys []string, r *report.Report) {
	whole := slices.Contains(keys, all)
	failed := map[string]bool{}
	for _, f := range r.Failures {
		failed[f.Node] = true // all, where it is no node's
	}
	for key := range failed {
		l.queue.AddRateLimited(key)
	}
	for _, key := range keys {
		if !failed[key] {
			l.queue.Forget(key)
		}
		l.queue.Done(key)
	}
	if whole && !failed[all] {
		l.queue.AddAfter(all, l.Interval)
	}
	l.note(keys, failed, whole)
}

// note keeps what fails, and tells when the runs for single nodes have done the last of it.
func (l *loop) note(keys []string, failed map[string]bool, whole bool) {
	before := len(l.failing)
	if whole {
		clear(l.failing)
	}
	for _, key := range keys {
		delete(l.failing, key)
	}
	maps.Copy(l.failing, failed)
	if !whole && before > 0 && len(l.failing) == 0 {
		l.Recovered()
	}
}
