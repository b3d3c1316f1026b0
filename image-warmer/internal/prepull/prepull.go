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

// Pods are the pods of a namespace.
type Pods interface {
	client.Watchable[*corev1.PodList]
	Create(ctx context.Context, pod *corev1.Pod, options metav1.CreateOptions) (*corev1.Pod, error)
	Delete(ctx context.Context, name string, options metav1.DeleteOptions) error
}

// Config is what a Puller needs.
type Config struct {
	options.Pulls

	// Client has the pods of the namespace, and Cluster tells its version.
	Client    Pods
	Cluster   injection.Cluster
	Namespace string
	// Run is the value of functionpod.WarmerLabel.
	Run string
	Log *slog.Logger
}

// Puller makes pulls. PullAll may be called once.
type Puller struct {
	Config
	// fallback says that init containers take the place of image volumes where these do not work.
	fallback bool
	watcher  *watcher
	pods     atomic.Int64
	// refused says that image volumes do not work here.
	refused atomic.Bool
}

// New returns a Puller. It asks the cluster whether it knows image volumes, where that is left to it.
func New(ctx context.Context, c Config) *Puller {
	p := &Puller{Config: c, fallback: c.Injection == injection.Auto}
	if p.fallback {
		var err error
		if p.Injection, err = injection.Detect(ctx, c.Cluster); err != nil {
			p.Log.WarnContext(ctx, "what the cluster can do is not known, so that nodes pull by init containers", "err", err)
		}
	}
	return p
}

// PullAll makes pulls and returns what has become of each. When the context ends, those that are left fail. In any case the pods
// are deleted when it returns, which is at most 20 seconds after the end of the context.
//
// The error says that pods cannot be watched, so that none was made.
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

// all makes pulls, as many at once as may be, and each as soon as its node has a place.
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

// one makes a pull, and once more where image volumes turn out not to work.
func (p *Puller) one(ctx context.Context, pull Pull) Outcome {
	start := time.Now()
	method := p.Injection
	if p.refused.Load() {
		method = injection.InitContainer
	}
	err := p.attempt(ctx, &pull, method)
	if method == injection.ImageVolume && p.fallback && refuses(err) {
		if p.refused.CompareAndSwap(false, true) {
			p.Log.WarnContext(ctx, "image volumes do not work here, nodes pull by init containers from now on: say so with --wrapper-injection=init-container",
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

// refuses reports whether an error may come from an image volume: the API server does not know of them, or the node.
func refuses(err error) bool {
	failed, ok := errors.AsType[*podstatus.Problem](err)
	return injection.RefusedByServer(err) || ok && injection.RefusedByNode(failed.Reason, failed.Message, functionDir)
}
