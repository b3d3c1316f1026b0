// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
)

// maxDeletions is the maximum number of deletions in one sweep. The next sweep deletes the rest.
const maxDeletions = 500

// sweep deletes the objects that nobody needs any more, and reports the result.
func (j *Janitor) sweep(ctx context.Context) (*Report, error) {
	begin := time.Now()
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, j.Options.Timeout)
	defer cancel()
	objects, err := j.list(ctx)
	if err != nil {
		j.Metrics.failed(ctx)
		return nil, fmt.Errorf("nothing was deleted: %w", err)
	}
	r := &Report{Namespace: j.Options.Namespace, DryRun: j.Options.DryRun, Begin: begin.UTC().Truncate(time.Second)}
	timedOut := j.carryOut(ctx, sweep.Decide(objects, j.Options.Rules, begin), r)
	r.took = time.Since(begin)
	j.Metrics.done(ctx, r)
	if r.count(Deleted) > 0 {
		if err := j.recordEvent(ctx, r.note()); err != nil {
			j.Log.WarnContext(ctx, "the deletions have no event", "err", err)
		}
	}
	if err := r.write(ctx, j.Out, j.Options.Output, j.Log); err != nil {
		return nil, err
	}
	switch {
	case r.err != nil:
		return r, fmt.Errorf("%d deletions failed, first error: %w", r.count(Failed), r.err)
	// An interrupted sweep leaves the rest to the next one, without an error.
	case timedOut && parent.Err() == nil:
		return r, fmt.Errorf("%d objects are left to the next sweep: the --timeout of %v is too short at %v deletions per second (--qps)",
			r.count(Waiting), j.Options.Timeout, j.Options.QPS)
	}
	return r, nil
}

// carryOut deletes objects one after the other, until ctx ends, and adds the outcomes to the report. The rest is left to the next sweep.
// timedOut reports whether ctx ended before the last deletion.
func (j *Janitor) carryOut(ctx context.Context, result sweep.Result, r *Report) (timedOut bool) {
	r.Seen, r.Kept = result.Seen, result.Kept
	left := maxDeletions
	for _, d := range result.Decisions {
		row := Row{Decision: d}
		switch {
		case !d.Delete:
			row.Action = Left
		case left == 0:
			row.Action = Waiting
		case r.DryRun:
			row.Action = WouldDelete
			left--
		case j.limiter.Wait(ctx) != nil:
			row.Action = Waiting
			timedOut, left = true, 0
		default:
			var err error
			if row.Action, err = j.delete(ctx, d); err != nil {
				row.Error = err.Error()
				r.err = cmp.Or(r.err, err)
			}
			left--
		}
		r.Rows = append(r.Rows, row)
	}
	return timedOut
}
