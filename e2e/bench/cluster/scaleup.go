// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/e2e/bench/calls"
	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/install"
)

const (
	// together is the number of pods that start at once for a function. scaleUps is the number of repetitions.
	together, scaleUps = 4, 3
	// allReady is the time limit for all pods to become ready.
	allReady = 30 * time.Second
)

// measureScaleUp sends concurrent calls to a function that has no pods, and allows one pod per caller. It reports the latency of the first
// response, and compares the first calls of new pods with the calls that follow.
func (b *bench) measureScaleUp(ctx context.Context) (err error) {
	if err := b.apply(ctx, imageVolume, map[string]any{"maxParallelPodsPerFunction": together, "maxWaitlistLength": 1}); err != nil {
		return err
	}
	client, err := b.Dial(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	var cold, first, second []float64
	for range scaleUps {
		image, err := b.function.push(ctx, function.Standby)
		if err != nil {
			return err
		}
		waited, err := callTogether(ctx, client, image)
		if err != nil {
			return err
		}
		if err := b.awaitPods(ctx, image); err != nil {
			return err
		}
		begun, err := callTogether(ctx, client, image)
		if err != nil {
			return err
		}
		again, err := callTogether(ctx, client, image)
		if err != nil {
			return err
		}
		cold, first, second = append(cold, waited.fastest.Seconds()), append(first, milliseconds(begun.slowest)), append(second, milliseconds(again.slowest))
		if err := b.DeleteFunctionPods(ctx); err != nil {
			return err
		}
	}
	b.Add(report.Row{Section: startSection, What: fmt.Sprintf("first answer while %d pods are made at once", together), Measured: report.Median(cold), Unit: "s"},
		report.Row{
			Section: startSection, What: fmt.Sprintf("%d calls at once that %d new pods have never had, slowest; beside the next %d", together, together, together),
			Measured: report.Median(first), Beside: report.Median(second), Unit: "ms",
		})
	return nil
}

// extremes holds the latencies of the fastest and the slowest call.
type extremes struct{ fastest, slowest time.Duration }

// callTogether makes one concurrent call for each allowed pod.
func callTogether(ctx context.Context, client *install.Client, image string) (extremes, error) {
	times, errs := make([]time.Duration, together), make([]error, together)
	list := function.List(calls.Small)
	var all sync.WaitGroup
	for i := range together {
		all.Go(func() {
			begin := time.Now()
			errs[i] = evaluate(ctx, client, image, list)
			times[i] = time.Since(begin)
		})
	}
	all.Wait()
	return extremes{slices.Min(times), slices.Max(times)}, errors.Join(errs...)
}

// awaitPods waits until all allowed pods of a function are ready.
func (b *bench) awaitPods(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, allReady)
	defer cancel()
	for {
		pods, err := b.FunctionPods(ctx, image)
		if err != nil {
			return err
		}
		ready := len(readyOf(pods))
		if ready == together {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d pods at once: %d are ready: %w", together, ready, ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// readyOf returns the pods that are ready.
func readyOf(pods []corev1.Pod) []corev1.Pod {
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool { return !slices.ContainsFunc(pod.Status.Conditions, isReady) })
}

func isReady(c corev1.PodCondition) bool {
	return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
}
