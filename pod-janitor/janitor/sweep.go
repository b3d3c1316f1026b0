// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package janitor

import (
	"context"
	"fmt"
	"time"

	"github.com/krmfn/krmfn/pod-janitor/internal/cluster"
	"github.com/krmfn/krmfn/pod-janitor/internal/report"
	"github.com/krmfn/krmfn/pod-janitor/internal/sweep"
)

// sweep sweeps once.
func (j *Janitor) sweep(ctx context.Context) (*report.Report, error) {
	o := j.config.Options
	begin := time.Now()
	life := ctx // which ends when somebody ends the janitor
	ctx, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	objects, err := j.config.Cluster.List(ctx)
	if err != nil {
		j.config.Metrics.Failed(ctx)
		return nil, fmt.Errorf("nothing was deleted: %w", err)
	}
	result := sweep.Decide(objects, o.Rules, begin)
	r := &report.Report{Namespace: o.Namespace, DryRun: o.DryRun, Seen: result.Seen, Kept: result.Kept, Begin: begin}
	j.carryOut(ctx, result.Decisions, r)
	r.Took = time.Since(begin)
	j.config.Metrics.Done(ctx, r)
	j.tell(ctx, r)
	if err := r.Write(ctx, j.config.Out, o.Output, j.config.Log); err != nil {
		return nil, err
	}
	return r, j.outcome(life, r)
}

// carryOut does what was decided, one object after the other, until ctx ends. What is left waits for the next sweep.
func (j *Janitor) carryOut(ctx context.Context, decisions []sweep.Decision, r *report.Report) {
	left := j.config.Options.MaxDeletions
	for _, d := range decisions {
		row := report.Row{Decision: d}
		switch {
		case !d.Delete:
			row.Action = report.Left
		case left == 0:
			row.Action = report.Waiting
		case r.DryRun:
			row.Action = report.WouldDelete
			left--
		case j.config.Cluster.Wait(ctx) != nil:
			row.Action = report.Waiting
			r.Over, left = true, 0
		default:
			row.Action, row.Err = j.remove(ctx, d)
			left--
		}
		r.Rows = append(r.Rows, row)
	}
}

func (j *Janitor) remove(ctx context.Context, d sweep.Decision) (report.Action, error) {
	outcome, err := j.config.Cluster.Delete(ctx, d)
	switch {
	case err != nil:
		return report.Failed, err
	case outcome == cluster.Changed:
		return report.Used, nil
	case outcome == cluster.Gone:
		return report.Gone, nil
	}
	return report.Deleted, nil
}

// tell makes an Event, if anything was deleted.
func (j *Janitor) tell(ctx context.Context, r *report.Report) {
	if r.Count(report.Deleted) == 0 {
		return
	}
	if err := j.config.Cluster.Tell(ctx, r.Note()); err != nil {
		j.config.Log.WarnContext(ctx, "what was deleted is in no Event", "err", err)
	}
}

// outcome returns the error of a sweep. That somebody ended it is none: what is left waits for the next sweep.
func (j *Janitor) outcome(life context.Context, r *report.Report) error {
	for _, row := range r.Rows {
		if row.Err != nil {
			return fmt.Errorf("%d deletions failed, the first of them: %w", r.Count(report.Failed), row.Err)
		}
	}
	if r.Over && life.Err() == nil {
		return fmt.Errorf("%d objects are left to the next sweep: the %v of --timeout do not do at %v deletions in a second (--qps)",
			r.Count(report.Waiting), j.config.Options.Timeout, j.config.Options.QPS)
	}
	return nil
}
