// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/load"
)

// warm holds a warmed-up function of each kind.
type warm struct {
	client *install.Client
	images map[*function.Kind]string
}

// makeWarm installs the function runner and warms up a function of each kind. Later calls share one connection, as calls from Porch do.
func (b *bench) makeWarm(ctx context.Context) error {
	if err := b.apply(ctx, "auto"); err != nil {
		return err
	}
	client, err := b.Dial(ctx)
	if err != nil {
		return err
	}
	b.warm = warm{client, make(map[*function.Kind]string)}
	for _, kind := range function.Kinds {
		image, err := b.function.push(ctx, kind)
		if err != nil {
			return err
		}
		b.warm.images[kind] = image
		if err := b.warmUp(ctx, kind); err != nil {
			return fmt.Errorf("%s: %w", kind.Name, err)
		}
	}
	made, err := b.FunctionPods(ctx, b.warm.images[function.Standby])
	if err == nil && len(made) == 0 {
		err = fmt.Errorf("%s has no pods", function.Standby.Name)
	}
	if err != nil {
		return err
	}
	b.pod = &made[0]
	return nil
}

// warmUp makes concurrent calls, so that the function runner creates all allowed pods, and then checks that only the cached kind returns
// cached results.
func (b *bench) warmUp(ctx context.Context, kind *function.Kind) error {
	list := function.List(function.Small)
	if err := b.call(kind, list)(ctx); err != nil {
		return err
	}
	result, err := measure.Closed(kind.Name, 2*runtime.NumCPU(), 3*time.Second, b.call(kind, list)).Measure(ctx)
	if err != nil {
		return err
	}
	if result.Lost() > 0 {
		return fmt.Errorf("warm up: calls failed: %v", result.Failed)
	}
	_, said, err := b.warm.client.EvaluateReported(ctx, b.warm.images[kind], list)
	if err == nil && said.GetCached() != (kind == function.Cached) {
		return errors.New("warm up: the response of the cached kind is not a cached result, or the response of another kind is")
	}
	return err
}

// call returns a call that sends a list to a kind.
func (b *bench) call(kind *function.Kind, list []byte) load.Call {
	image := b.warm.images[kind]
	return func(ctx context.Context) error { return evaluate(ctx, b.warm.client, image, list) }
}

func evaluate(ctx context.Context, client *install.Client, image string, list []byte) error {
	out, err := client.Evaluate(ctx, image, list)
	if err != nil {
		return err
	}
	return function.Check(out)
}
