// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/bench/calls"
	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/bench/turns"
	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/load"
)

const (
	// disrupted is the number of calls, and disruptedRate is their rate per second. disruptAfter is the delay until the disruption begins.
	disrupted, disruptedRate = 120, 8
	disruptAfter             = 3 * time.Second
)

// measureDisruptions counts the calls that fail while function runners restart and function pods are deleted or killed.
func (b *bench) measureDisruptions(ctx context.Context) error {
	for _, d := range []struct {
		what    string
		disrupt func(ctx context.Context, image string) error
	}{
		{"rolling restart of the function runner", func(ctx context.Context, _ string) error { return b.Restart(ctx) }},
		{"function pods deleted", func(ctx context.Context, image string) error { return b.deletePods(ctx, image, metav1.DeleteOptions{}) }},
		{"function pods killed", func(ctx context.Context, image string) error {
			return b.deletePods(ctx, image, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		}},
	} {
		if err := b.measureDisruption(ctx, d.what, d.disrupt); err != nil {
			return fmt.Errorf("%s: %w", d.what, err)
		}
	}
	return nil
}

func (b *bench) measureDisruption(ctx context.Context, what string, disrupt func(context.Context, string) error) error {
	call, image := b.call(function.Standby, function.List(calls.Small)), b.warm.images[function.Standby]
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	begin, done := time.Now(), make(chan error, 1)
	var lasted time.Duration
	go func() {
		select {
		case <-time.After(disruptAfter):
			err := disrupt(ctx, image)
			lasted = time.Since(begin) - disruptAfter
			done <- err
		case <-ctx.Done():
			done <- ctx.Err()
		}
	}()
	result, loadErr := load.Open{
		Calls: load.Calls{Duration: disrupted * time.Second / disruptedRate, Timeout: callTimeout, Code: turns.Code}, Rate: disruptedRate, MaxInFlight: disrupted,
	}.Run(ctx, call)
	if loadErr != nil {
		cancel()
	}
	if err := errors.Join(<-done, loadErr); err != nil {
		return err
	}
	// A disruption that outlasts the calls could make later calls fail unnoticed.
	if duration := disrupted * time.Second / disruptedRate; lasted > duration-disruptAfter {
		return fmt.Errorf("the disruption lasted %v, longer than the calls", lasted)
	}
	b.Add(report.Row{Section: "calls that fail", What: fmt.Sprintf("%s, %d calls at %d/s", what, disrupted, disruptedRate), Measured: float64(result.Lost()), Unit: "failed", Goal: &report.Goal{}})
	b.Note("%s: it began after %v and lasted %v; the slowest of %d calls that succeeded took %v.",
		what, disruptAfter, lasted.Round(time.Millisecond), result.Succeeded(), result.At(100).Round(time.Millisecond))
	if result.Lost() > 0 {
		b.Note("%s: failed %v, not sent %d.", what, result.Failed, result.Unsent)
	}
	return nil
}

// deletePods deletes all pods of a function with the given delete options.
func (b *bench) deletePods(ctx context.Context, image string, how metav1.DeleteOptions) error {
	pods, err := b.FunctionPods(ctx, image)
	if err != nil {
		return err
	}
	if len(pods) == 0 {
		return errors.New("the function has no pods")
	}
	for _, pod := range pods {
		if err := b.Client.CoreV1().Pods(install.FunctionNamespace).Delete(ctx, pod.Name, how); err != nil {
			return err
		}
	}
	return nil
}
