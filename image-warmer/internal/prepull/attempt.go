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

// unschedulableGrace is the time for which a pod may be unschedulable, because other pods may end in the meantime.
const unschedulableGrace = 30 * time.Second

// errTimeout is the cause of a context that has exceeded Config.Timeout.
var errTimeout = errors.New("the pull timed out")

// attempt creates a pod, waits for its end, and deletes it.
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
			return p.over(ctx, &state{progress: "was not created, because the API server does not answer"})
		}
		return fmt.Errorf("create a pod in namespace %s: %w", p.Namespace, err)
	}
	defer p.remove(ctx, made)
	return p.await(ctx, followed)
}

// await waits for the end of a pod, and returns nil if the pod succeeded.
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

// over returns the error of a pull whose context has ended.
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
	// done reports that the outcome is final. err is nil if the image was pulled.
	done bool
	err  error
	// unschedulable is the reason why the pod cannot be scheduled yet, or nil.
	unschedulable *podstatus.Problem
	// pulling is the latest failure of a pull, which the kubelet may retry, or nil.
	pulling *podstatus.Problem
	// progress describes the phase of the pod for errors.
	progress string
}

// maxPulls is the number of failed pulls after which the attempt fails. Transient failures usually end with the first retry.
const maxPulls = 2

// backOff is the reason of a container whose pull waits for the next attempt.
const backOff = "ImagePullBackOff"

// tracker derives the state of one pod from its changes. It must see all changes in order.
type tracker struct {
	failed int
	// reason is the reason of the previous change. Several changes in a row may report the same failed pull.
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
