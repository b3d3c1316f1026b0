// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/metadata"

	"github.com/krmfn/krmfn/pod-janitor/options"
)

// Config configures a Janitor. All fields are required.
type Config struct {
	Options options.Options
	Client  Clients
	// Metadata reads the metadata of the pull secret.
	Metadata metadata.Interface
	// Self is the janitor's own pod.
	Self    Self
	Metrics *Metrics
	// Out receives reports in the format table or json.
	Out io.Writer
	Log *slog.Logger
}

// Janitor deletes objects that nobody needs any more. It is not safe for concurrent use.
type Janitor struct {
	Config
	limiter *rate.Limiter
}

// newJanitor returns a Janitor. It does nothing before Run.
func newJanitor(c Config) *Janitor {
	return &Janitor{Config: c, limiter: rate.NewLimiter(rate.Limit(c.Options.QPS), 1)}
}

// Run sweeps once and returns the error of the sweep. With an interval, it sweeps until ctx ends and logs errors. If ctx ends between two
// deletions, Run returns an error only with Rules.All. Call it once.
func (j *Janitor) Run(ctx context.Context) error {
	interval := j.Options.Interval
	switch {
	case j.Options.Rules.All && !j.Options.DryRun:
		return j.clear(ctx)
	case interval == 0:
		_, err := j.sweep(ctx)
		return err
	}
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if _, err := j.sweep(ctx); err != nil && ctx.Err() == nil {
			j.Log.ErrorContext(ctx, "the sweep failed, the next one follows", "in", interval, "err", err)
		}
	}, interval)
	return nil
}
