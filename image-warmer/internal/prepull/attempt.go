// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package prepull

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/services/cluster/injection"
)

// unschedulableGrace is how long a pod may have no place on its node: others end meanwhile.
const unschedulableGrace = 30 * time.Second

// errTimeout is the cause of a pull's end by its own deadline.
var errTimeout = errors.New("the pull takes too long")

// attempt makes a pod, waits for what becomes of it, and deletes it.
func (p *Puller) attempt(ctx context.Context, pull *Pull, method injection.Method) error {
	if ctx.Err() != nil {
		return errCanceled
	}
	ctx, cancel := context.WithTimeoutCause(ctx, p.Timeout, errTimeout)
	defer cancel()
	name := fmt.Sprintf("image-warmer-%s-%d", p.Run, p.pods.Add(1))
	followed := p.watcher.follow(name)
	defer p.watcher.forget(name)
	pods := p.Client.CoreV1().Pods(p.Namespace)
	made, err := pods.Create(ctx, p.Pod(name, pull, method), metav1.CreateOptions{})
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
		return errCanceled
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
