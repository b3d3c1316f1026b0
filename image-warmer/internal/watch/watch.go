// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package watch repeats runs of the image warmer: for all nodes at the start and at intervals, for nodes when they join or become able to
// pull, and after failures.
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

// Config configures Run.
type Config struct {
	// Nodes is a client for nodes. Nil means that no node pulls.
	Nodes client.Watchable[*corev1.NodeList]
	// Selector and Tolerations select the nodes; see prepull.Nodes and prepull.NewPlan.
	Selector    string
	Tolerations []corev1.Toleration
	// Interval is the interval between runs for all nodes, and the maximum backoff after failures.
	Interval time.Duration
	// Warm performs one run for the nodes with these names, or for all nodes if nodes is nil. One goroutine calls it.
	Warm func(ctx context.Context, nodes []string) *report.Report
	// Recovered is called when the retries of single nodes have completed a failed run for all nodes.
	Recovered func()
	Log       *slog.Logger
}

const (
	// all is the key of a run for all nodes in the queue. No node has this name.
	all = ""
	// firstRetry is the delay before the first retry of a failure.
	firstRetry = time.Minute
)

// loop is the state of Run.
type loop struct {
	Config
	// queue holds the names of nodes that wait for a run, each once.
	queue workqueue.TypedRateLimitingInterface[string]
	// failing holds the keys whose last run failed.
	failing map[string]bool
}

// Run performs runs until ctx ends, and waits for the last run. It returns an error if nodes cannot be watched.
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

// next waits for a key and returns all keys in the queue. more is false when the queue has been shut down.
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

// settle adds failed keys to the queue again, with backoff. After a successful run for all nodes, it schedules the next one.
func (l *loop) settle(keys []string, r *report.Report) {
	whole := slices.Contains(keys, all)
	failed := map[string]bool{}
	for _, f := range r.Failures {
		failed[f.Node] = true // An empty name means all.
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

// note updates failing, and calls Recovered when runs for single nodes have removed the last failure.
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
