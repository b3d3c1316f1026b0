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
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/bench/turns"
	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/load"
)

// small is the list that goals are for, in resources.
const small = 10

// callers are how many make calls at once; aimed is the one that has a goal.
var callers = []int{1, 2, 4, 8, 16}

const aimed = 8

// warm is a function of each kind with all pods that it may have.
type warm struct {
	client *install.Client
	images map[*function.Kind]string
}

// makeWarm installs the function runner and makes its pods, which one connection calls from then on, as Porch does.
func (b *bench) makeWarm(ctx context.Context) error {
	if err := b.apply(ctx, "auto", nil); err != nil {
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

// warmUp has several callers at once, so that the function runner makes all pods that it may, and makes sure that the kind
// runs as it is meant to.
func (b *bench) warmUp(ctx context.Context, kind *function.Kind) error {
	list := function.List(small)
	result, err := turns.Callers(kind.Name, 2*runtime.NumCPU(), 4*time.Second, b.call(kind, list)).Turn(ctx)
	if err != nil {
		return err
	}
	if result.Lost() > 0 {
		return fmt.Errorf("warm up: calls failed: %v", result.Failed)
	}
	_, said, err := b.warm.client.EvaluateReported(ctx, b.warm.images[kind], list)
	if err == nil && said.GetCached() != (kind == function.Memo) {
		return errors.New("warm up: it has answers kept that should not be, or does not keep them")
	}
	return err
}

// call returns what calls a kind with a list.
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

// ways are the bare process and kinds, on one list.
func (b *bench) ways(resources int, kinds []*function.Kind, way func(name string, call load.Call) turns.Way) []turns.Way {
	list := function.List(resources)
	all := []turns.Way{way(function.BareProcess, b.function.bare(list))}
	for _, k := range kinds {
		all = append(all, way(k.Name, b.call(k, list)))
	}
	return all
}

// measureRate has calls come at a constant rate above that of the hop.
func (b *bench) measureRate(ctx context.Context) error {
	const rate = 50
	all, err := turns.Take(ctx, b.rounds, b.ways(small, function.Kinds[1:], func(name string, call load.Call) turns.Way {
		return turns.Rate(name, rate, b.turn*3, call)
	})...)
	if err != nil {
		return err
	}
	for i, kind := range function.Kinds[1:] {
		b.addRate(rate, kind, all[i+1], all[0])
	}
	return nil
}

// addRate adds the latencies of a kind at a constant rate.
func (b *bench) addRate(rate int, kind *function.Kind, measured, bare turns.Series) {
	var p50, p99 *report.Goal
	if kind == function.Standby {
		p50 = &report.Goal{Of: report.Ratio, Bound: .8}
	}
	if kind == function.Standby && rate == slow {
		p99 = &report.Goal{Of: report.Beyond, Bound: 3}
	}
	section := fmt.Sprintf("%d calls a second", rate)
	what := fmt.Sprintf("pod, %s, %d/s: ", kind.Name, rate)
	b.Add(turns.Row(section, what+"p50", turns.Percentile(50), measured, bare, p50),
		turns.Row(section, what+"p99", turns.Percentile(99), measured, bare, p99))
}

// measureSizes has one caller call each kind with lists of each size, back to back.
func (b *bench) measureSizes(ctx context.Context) error {
	for _, resources := range function.Sizes {
		turn := b.turn
		if resources >= 1000 {
			// A bare process takes a quarter of a second for the largest list.
			turn = b.turn * time.Duration(1+resources/2500)
		}
		all, err := turns.Take(ctx, b.rounds, b.ways(resources, function.Kinds, func(name string, call load.Call) turns.Way {
			return turns.Callers(name, 1, turn, call)
		})...)
		if err != nil {
			return err
		}
		for i, k := range function.Kinds {
			var goal *report.Goal
			switch {
			case k == function.Memo && resources == small:
				goal = &report.Goal{Of: report.Ratio, Bound: .15}
			case k == function.Standby && resources == 5000:
				goal = &report.Goal{Of: report.Ratio, Bound: 1.05}
			}
			what := fmt.Sprintf("pod, %s, %d resources: p50", k.Name, resources)
			b.Add(turns.Row("one caller, back to back", what, turns.Percentile(50), all[i+1], all[0], goal))
		}
	}
	return nil
}

// measureCallers has more and more callers call each kind as fast as they can.
func (b *bench) measureCallers(ctx context.Context) error {
	for _, count := range callers {
		all, err := turns.Take(ctx, b.rounds, b.ways(small, function.Kinds, func(name string, call load.Call) turns.Way {
			return turns.Callers(name, count, b.turn*3/4, call)
		})...)
		if err != nil {
			return err
		}
		for i, k := range function.Kinds {
			var goal *report.Goal
			if k == function.Standby && count == aimed {
				goal = &report.Goal{Of: report.Ratio, AtLeast: true, Bound: .95}
			}
			b.Add(turns.Row("throughput by callers", fmt.Sprintf("pod, %s, callers: %d", k.Name, count), turns.Throughput, all[i+1], all[0], goal))
		}
		b.throughputs = turns.Throughputs(b.throughputs, count, all)
	}
	return nil
}
