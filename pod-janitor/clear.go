// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// clearPause is the time between the sweeps that delete everything.
const clearPause = time.Second

// unknown is how many objects there are before anybody has looked.
const unknown = -1

// clear sweeps until there has been nothing of ours for the grace: a function runner that is being uninstalled still makes pods
// for the calls that it has. Where all that makes objects has been stopped before, one sweep that leaves nothing to be deleted will do.
//
// The error is that of a sweep, or that there still are objects when --timeout is over or ctx is cancelled: unlike after other sweeps,
// nobody comes for what is left. That the grace is not over by then is none.
func (j *Janitor) clear(ctx context.Context) error {
	life, deadline := ctx, time.Now().Add(j.Options.Timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	left := unknown
	err := j.empty(ctx, &left)
	switch {
	case err == nil:
		return nil
	case life.Err() != nil:
		return j.unfinished(ctx, left, "told to end", "run it again")
	case !time.Now().Before(deadline):
		why := fmt.Sprintf("the %v of --timeout are over", j.Options.Timeout)
		return j.unfinished(ctx, left, why, "check that all function runners are gone, and the log for objects that are stuck")
	}
	return err
}

// empty stops what makes objects, and sweeps until clear may return. It keeps in left how many objects the last sweep saw.
func (j *Janitor) empty(ctx context.Context, left *int) error {
	stopped, err := j.stop(ctx)
	if err != nil {
		return err
	}
	since := time.Now()
	return wait.PollUntilContextCancel(ctx, clearPause, true, func(ctx context.Context) (bool, error) {
		r, err := j.sweep(ctx)
		if r == nil {
			return false, err
		}
		if *left = r.objects(); *left > 0 {
			since = time.Now()
		}
		return stopped && r.settled() || time.Since(since) >= j.Options.Rules.Grace, err
	})
}

// unfinished says what sweeps leave behind that have been ended, as far as the last of them saw it: nil for nothing.
func (j *Janitor) unfinished(ctx context.Context, left int, why, remedy string) error {
	namespace := j.Options.Namespace
	switch left {
	case unknown:
		return fmt.Errorf("%s before the objects of namespace %s could be listed: %s", why, namespace, remedy)
	case 0:
		j.Log.InfoContext(ctx, "nothing is left; the end came before that of --grace", "namespace", namespace, "reason", why, "grace", j.Options.Rules.Grace)
		return nil
	}
	plural := "s"
	if left == 1 {
		plural = ""
	}
	return fmt.Errorf("%s with %d object%s left in namespace %s: %s", why, left, plural, namespace, remedy)
}
