// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/image-warmer/options"
	"github.com/krmfn/krmfn/internal/cluster/client"
	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

// Pods is a client for the pods of a namespace.
type Pods interface {
	client.Watchable[*corev1.PodList]
	Create(ctx context.Context, pod *corev1.Pod, options metav1.CreateOptions) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// Config configures a Puller.
type Config struct {
	options.Pulls

	// Client is a client for the pods of the namespace. Cluster provides the version of the cluster.
	Client    Pods
	Cluster   injection.Cluster
	Namespace string
	// Run is the value of functionpod.WarmerLabel.
	Run string
	Log *slog.Logger
}

// Puller pulls images onto nodes. Call PullAll at most once.
type Puller struct {
	Config
	// fallback reports that pods use init containers if image volumes do not work.
	fallback bool
	watcher  *watcher
	pods     atomic.Int64
	// refused reports that image volumes do not work in this cluster.
	refused atomic.Bool
}

// New returns a Puller. With injection.Auto, it requests the version of the cluster to find out whether image volumes are supported.
func New(ctx context.Context, c Config) *Puller {
	p := &Puller{Config: c, fallback: c.Injection == injection.Auto}
	if p.fallback {
		var err error
		if p.Injection, err = injection.Detect(ctx, c.Cluster); err != nil {
			p.Log.WarnContext(ctx, "the version of the cluster is unknown, using init containers", "err", err)
		}
	}
	return p
}

// PullAll pulls images and returns the outcomes. When the context ends, the remaining pulls fail. PullAll deletes its pods before it
// returns, at most 20 seconds after the end of the context. It returns an error if pods cannot be watched; no pod was created then.
func (p *Puller) PullAll(ctx context.Context, pulls []Pull) ([]Outcome, error) {
	if len(pulls) == 0 {
		return nil, nil
	}
	var err error
	if p.watcher, err = p.watch(ctx); err != nil {
		return nil, err
	}
	defer p.watcher.close()
	outcomes := p.all(ctx, pulls)
	p.sweep(ctx)
	return outcomes, nil
}

// all runs the pulls concurrently, within the limits for all nodes and for each node.
func (p *Puller) all(ctx context.Context, pulls []Pull) []Outcome {
	waiting, running, onNode := slices.Clone(pulls), 0, map[string]int{}
	ended := make(chan Outcome)
	outcomes := make([]Outcome, 0, len(pulls))
	for len(waiting)+running > 0 {
		for running < p.MaxParallel {
			next := slices.IndexFunc(waiting, func(pull Pull) bool { return onNode[pull.Node] < p.MaxPerNode })
			if next < 0 {
				break
			}
			pull := waiting[next]
			waiting = slices.Delete(waiting, next, next+1)
			running++
			onNode[pull.Node]++
			go func() { ended <- p.one(ctx, pull) }()
		}
		outcome := <-ended
		running--
		onNode[outcome.Node]--
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// one runs a pull. If image volumes do not work, it retries with an init container.
func (p *Puller) one(ctx context.Context, pull Pull) Outcome {
	start := time.Now()
	method := p.Injection
	if p.refused.Load() {
		method = injection.InitContainer
	}
	err := p.attempt(ctx, &pull, method)
	if method == injection.ImageVolume && p.fallback && refuses(err) {
		if p.refused.CompareAndSwap(false, true) {
			p.Log.WarnContext(ctx, "image volumes do not work in this cluster, using init containers: set --wrapper-injection=init-container",
				"node", pull.Node, "err", err)
		}
		err = p.attempt(ctx, &pull, injection.InitContainer)
	}
	outcome := Outcome{Pull: pull, Result: report.Pulled, Err: err, Took: time.Since(start)}
	if err != nil {
		outcome.Result = report.Failed
		p.Log.WarnContext(ctx, "image was not pulled", "image", pull.Image, "node", pull.Node, "took", outcome.Took, "err", err)
	} else {
		p.Log.InfoContext(ctx, "image was pulled", "image", pull.Image, "node", pull.Node, "took", outcome.Took)
	}
	return outcome
}

// refuses reports whether an error means that the API server or the node does not support image volumes.
func refuses(err error) bool {
	failed, ok := errors.AsType[*podstatus.Problem](err)
	return injection.RefusedByServer(err) || ok && injection.RefusedByNode(failed.Reason, failed.Message, functionDir)
}
