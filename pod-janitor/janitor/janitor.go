// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package janitor sweeps the namespace of the function pods: it lists, decides, deletes and tells what it did.
//
// It needs to list and delete pods and services there, to get and delete the one pull secret, and to create events in the
// namespace of the pod that it runs in.
package janitor

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/krmfn/krmfn/pod-janitor/options"
)

// Config is what a Janitor needs. All of it must be set, unless it says otherwise.
type Config struct {
	Options options.Options
	Client  kubernetes.Interface
	// Metadata gets the pull secret without its content, which is nobody's business here.
	Metadata metadata.Interface
	// Self is the pod that this runs in.
	Self    Self
	Metrics *Metrics
	// Out gets what --output asks for.
	Out io.Writer
	Log *slog.Logger
}

// Janitor sweeps. It is for one goroutine at a time.
type Janitor struct {
	Config
	limiter *rate.Limiter
}

// New returns a Janitor that does nothing before Run.
func New(c Config) *Janitor {
	return &Janitor{Config: c, limiter: rate.NewLimiter(rate.Limit(c.Options.QPS), 1)}
}

// Run sweeps once, or until ctx ends where there is an interval. Then errors are logged; else the error is that of the sweep. It
// is called once.
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

// clearPause is the time between the sweeps that delete everything.
const clearPause = 2 * time.Second

// clear sweeps until there has been nothing of ours for the grace: a function runner that is being uninstalled still makes pods
// for the calls that it has. The error is that of a sweep, or that there is no end of it.
func (j *Janitor) clear(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, j.Options.Timeout,
		fmt.Errorf("after the %v of --timeout there still are objects, or new ones: are all function runners gone?", j.Options.Timeout))
	defer cancel()
	empty := time.Now()
	err := wait.PollUntilContextCancel(ctx, clearPause, true, func(ctx context.Context) (bool, error) {
		r, err := j.sweep(ctx)
		if err != nil {
			return false, err
		}
		if len(r.Seen) > 0 {
			empty = time.Now()
		}
		return time.Since(empty) >= j.Options.Rules.Grace, nil
	})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}
