// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// clearInterval is the pause between the sweeps of --all.
const clearInterval = time.Second

// unknown is the number of remaining objects before the first list.
const unknown = -1

// clear deletes all objects of krmfn. It sweeps until no object has appeared for the grace period, because a function runner that shuts down
// still creates pods for its calls. If clear has stopped everything that creates objects, it ends after one sweep without remaining objects.
//
// clear returns the error of a sweep. It also returns an error if objects remain when --timeout has passed or ctx ends, because no later
// sweep deletes them. If none remain, it returns nil, even before the end of the grace period.
func (j *Janitor) clear(ctx context.Context) error {
	parent, deadline := ctx, time.Now().Add(j.Options.Timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	left := unknown
	err := j.deleteAll(ctx, &left)
	switch {
	case err == nil:
		return nil
	case parent.Err() != nil:
		return j.unfinished(ctx, left, "interrupted", "run it again")
	case !time.Now().Before(deadline):
		why := fmt.Sprintf("the --timeout of %v has passed", j.Options.Timeout)
		return j.unfinished(ctx, left, why, "check that no function runner is left, and look for stuck objects in the log")
	}
	return err
}

// deleteAll stops everything that creates objects, and sweeps until clear may return. It stores the number of objects that the last sweep
// listed in left.
func (j *Janitor) deleteAll(ctx context.Context, left *int) error {
	stopped, err := j.stop(ctx)
	if err != nil {
		return err
	}
	since := time.Now()
	return wait.PollUntilContextCancel(ctx, clearInterval, true, func(ctx context.Context) (bool, error) {
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

// unfinished returns an error that names the number of remaining objects; nil if the last sweep listed none.
func (j *Janitor) unfinished(ctx context.Context, left int, why, remedy string) error {
	namespace := j.Options.Namespace
	switch left {
	case unknown:
		return fmt.Errorf("%s before the objects of namespace %s were listed: %s", why, namespace, remedy)
	case 0:
		j.Log.InfoContext(ctx, "no objects are left; ended before --grace has passed", "namespace", namespace, "reason", why, "grace", j.Options.Rules.Grace)
		return nil
	}
	plural := "s"
	if left == 1 {
		plural = ""
	}
	return fmt.Errorf("%s with %d object%s left in namespace %s: %s", why, left, plural, namespace, remedy)
}
