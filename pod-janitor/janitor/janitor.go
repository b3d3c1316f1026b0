// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package janitor sweeps the namespace of the function pods: it lists, decides, deletes and tells what it did.
package janitor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/krmfn/krmfn/pod-janitor/internal/cluster"
	"github.com/krmfn/krmfn/pod-janitor/internal/report"
	"github.com/krmfn/krmfn/pod-janitor/options"
)

// Config is what a Janitor needs. All of it must be set.
type Config struct {
	Options options.Options
	Cluster *cluster.Cluster
	Metrics *report.Metrics
	// Out gets what --output asks for.
	Out io.Writer
	Log *slog.Logger
}

// Janitor sweeps.
type Janitor struct{ config Config }

// New returns a Janitor that does nothing before Run.
func New(c Config) *Janitor { return &Janitor{config: c} }

// Run sweeps once, or until ctx ends where there is an interval. Then errors are logged; else the error is that of the sweep. It
// is called once.
func (j *Janitor) Run(ctx context.Context) error {
	interval := j.config.Options.Interval
	switch {
	case j.config.Options.Rules.All && !j.config.Options.DryRun:
		return j.clear(ctx)
	case interval == 0:
		_, err := j.sweep(ctx)
		return err
	}
	timer := time.NewTimer(interval)
	defer timer.Stop()
	for {
		if _, err := j.sweep(ctx); err != nil && ctx.Err() == nil {
			j.config.Log.ErrorContext(ctx, "the sweep failed, the next one follows", "in", interval, "err", err)
		}
		timer.Reset(interval)
		select {
		case <-ctx.Done():
			return nil
		case <-timer.C:
		}
	}
}

// clearPause is the pause between the sweeps that delete everything.
const clearPause = 2 * time.Second

// clear sweeps until there has been nothing of ours for the grace: a function runner that is being uninstalled still makes pods
// for the calls that it has. The error is that of a sweep, or that there is no end of it.
func (j *Janitor) clear(ctx context.Context) error {
	o := j.config.Options
	ctx, cancel := context.WithTimeoutCause(ctx, o.Timeout,
		fmt.Errorf("after the %v of --timeout there still are objects, or new ones: are all function runners gone?", o.Timeout))
	defer cancel()
	empty := time.Now()
	for {
		r, err := j.sweep(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		for _, n := range r.Seen {
			if n > 0 {
				empty = time.Now()
			}
		}
		if time.Since(empty) >= o.Rules.Grace {
			return nil
		}
		timer := time.NewTimer(clearPause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		case <-timer.C:
		}
	}
}
