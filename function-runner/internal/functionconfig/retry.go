// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functionconfig

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// notServedPause is how long it may take until objects are followed that a cluster has got.
	notServedPause = 2 * time.Minute
	// forbiddenPause is how long it may take until a permission is noticed that was granted.
	forbiddenPause = 5 * time.Minute
	// The pauses after other failures.
	firstPause, longestPause = time.Second, 2 * time.Minute
	// steady is how long objects must have been followed for a problem to be a new one.
	steady = time.Minute

	// needed are the permissions in the namespace.
	needed = "get, list, watch, patch on functionconfigs and patch on functionconfigs/status, in the API group config.porch.kpt.dev"
)

// pauses are those between attempts.
type pauses struct{ other backoff.ExponentialBackOff }

type pause struct {
	reason   error
	duration time.Duration
}

func newPauses() *pauses {
	p := &pauses{backoff.ExponentialBackOff{InitialInterval: firstPause, MaxInterval: longestPause, Multiplier: 2, RandomizationFactor: 0.2}}
	p.reset()
	return p
}

// reset has the next pause be a short one.
func (p *pauses) reset() { p.other.Reset() }

func (p *pauses) after(err error) pause {
	switch {
	case errors.Is(err, errNotServed):
		return pause{err, notServedPause}
	case apierrors.IsForbidden(err):
		return pause{err, forbiddenPause}
	}
	return pause{err, p.other.NextBackOff()}
}

// announce logs that objects are followed, once after each problem that was logged.
func (f *Follower) announce(ctx context.Context, objects int) {
	f.since = time.Now()
	if !f.announced {
		f.announced = true
		f.config.Log.InfoContext(ctx, "FunctionConfig objects are followed", "namespace", f.config.Namespace, "objects", objects)
	}
}

// report logs why the objects are not followed, once for each reason.
func (f *Follower) report(ctx context.Context, p pause) {
	// Objects that may be listed and not watched are followed for a moment, each time.
	if !f.since.IsZero() && time.Since(f.since) > steady {
		f.problem = ""
	}
	f.since = time.Time{}
	if ctx.Err() != nil || p.reason.Error() == f.problem {
		return
	}
	f.problem, f.announced = p.reason.Error(), false
	log := f.config.Log.With("namespace", f.config.Namespace, "again", p.duration.Round(time.Second))
	switch {
	case errors.Is(p.reason, errNotServed):
		log.InfoContext(ctx, "the cluster has no FunctionConfig objects, which is looked at again now and then")
	case apierrors.IsForbidden(p.reason):
		log.WarnContext(ctx, "FunctionConfig objects are not followed, which takes permissions", "needed", needed, "err", p.reason)
	default:
		log.WarnContext(ctx, "FunctionConfig objects are not followed for now, what is known of them stays in force", "err", p.reason)
	}
}
