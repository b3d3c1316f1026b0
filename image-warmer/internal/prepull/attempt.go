// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/internal/cluster/injection"
	"github.com/krmfn/krmfn/internal/cluster/podstatus"
)

// unschedulableGrace is how long a pod may have no place on its node: others end meanwhile.
const unschedulableGrace = 30 * time.Second

// errTimeout is the cause of a pull's end by its own deadline.
var errTimeout = errors.New("the pull takes too long")

// attempt makes a pod, waits for what becomes of it, and deletes it.
func (p *Puller) attempt(ctx context.Context, pull *Pull, method injection.Method) error {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.Timeout, errTimeout)
	defer cancel()
	name := fmt.Sprintf("image-warmer-%s-%d", p.Run, p.pods.Add(1))
	followed := p.watcher.follow(name)
	defer p.watcher.forget(name)
	made, err := p.Client.Create(ctx, p.Pod(name, pull, method), metav1.CreateOptions{})
	if err != nil {
		if ctx.Err() != nil {
			return p.over(ctx, &state{progress: "is not made, as the API server does not answer"})
		}
		return fmt.Errorf("make a pod in namespace %s: %w", p.Namespace, err)
	}
	defer p.remove(ctx, made)
	return p.await(ctx, followed)
}

// await returns nil once a pod has ended well.
func (p *Puller) await(ctx context.Context, f *followed) error {
	var now state
	grace, counting := time.NewTimer(unschedulableGrace), false
	grace.Stop()
	defer grace.Stop()
	for {
		select {
		case <-ctx.Done():
			return p.over(ctx, &now)
		case <-grace.C:
			return now.unschedulable
		case now = <-f.changes:
		}
		if now.done {
			return now.err
		}
		if now.unschedulable == nil {
			grace.Stop()
		} else if !counting {
			grace.Reset(unschedulableGrace)
		}
		counting = now.unschedulable != nil
	}
}

// over says why a pull has not ended by itself.
func (p *Puller) over(ctx context.Context, now *state) error {
	if !errors.Is(context.Cause(ctx), errTimeout) {
		return ended(ctx)
	}
	timeout := p.Timeout
	switch {
	case now.pulling != nil:
		return fmt.Errorf("not pulled within %s: %w", timeout, now.pulling)
	case now.unschedulable != nil:
		return fmt.Errorf("not pulled within %s: %w", timeout, now.unschedulable)
	case now.progress != "":
		return fmt.Errorf("not pulled within %s, the pod %s: raise --pull-timeout", timeout, now.progress)
	}
	return fmt.Errorf("not pulled within %s: raise --pull-timeout", timeout)
}

type state struct {
	// done says that the pod has ended or will not; err is nil where the image was pulled.
	done bool
	err  error
	// unschedulable is why there is no place for the pod, which may change.
	unschedulable *podstatus.Problem
	// pulling is the latest problem with a pull, which the kubelet may try again.
	pulling *podstatus.Problem
	// progress says in a few words how far the pod is.
	progress string
}

// maxPulls is how often a pull must fail to be given up: what passes by itself mostly does so at once.
const maxPulls = 2

// backOff is the reason between two attempts to pull.
const backOff = "ImagePullBackOff"

// tracker follows one pod. It must see every change, in order.
type tracker struct {
	failed int
	// reason is that of the latest problem: several changes in a row may be of one failed pull.
	reason  string
	pulling *podstatus.Problem
}

func (t *tracker) observe(pod *corev1.Pod) state {
	status, problem := podstatus.Of(pod)
	switch {
	case pod.Status.Phase == corev1.PodSucceeded:
		return state{done: true}
	case pod.Status.Phase == corev1.PodFailed:
		return state{done: true, err: problem}
	case pod.DeletionTimestamp != nil:
		return state{done: true, err: errDeleted}
	case status == podstatus.Failed && problem.PullFailed():
		if problem.Reason != t.reason {
			t.failed++
		}
		if t.pulling = problem; t.failed >= maxPulls {
			return state{done: true, err: problem}
		}
	case status == podstatus.Failed && problem.Reason != backOff:
		return state{done: true, err: problem}
	}
	t.reason = ""
	if problem != nil {
		t.reason = problem.Reason
	}
	now := state{pulling: t.pulling, progress: progress(pod)}
	if status == podstatus.Unschedulable {
		now.unschedulable = problem
	}
	return now
}

func progress(pod *corev1.Pod) string {
	for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && w.Reason != "PodInitializing" && w.Reason != "ContainerCreating" {
			return "waits: " + w.Reason
		}
	}
	if pod.Spec.NodeName == "" {
		return "waits for a node"
	}
	return "waits for the kubelet"
}
