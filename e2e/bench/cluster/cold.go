// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/report"
)

// The chart's names for the ways to inject the wrapper server into pods.
const imageVolume, initContainer = "image-volume", "init-container"

// measureStarts measures cold calls: the first call of an image reference whose image is on the node.
func (b *bench) measureStarts(ctx context.Context) error {
	for _, injection := range []string{imageVolume, initContainer} {
		if err := b.apply(ctx, injection); err != nil {
			return err
		}
		// The first cold call makes the node pull the images.
		if _, err := b.coldCall(ctx); err != nil {
			return err
		}
		var seconds []float64
		for range *starts {
			took, err := b.coldCall(ctx)
			if err != nil {
				return err
			}
			seconds = append(seconds, took.Seconds())
		}
		row := report.Samples("cold call, "+injection, "s", seconds...)
		row.Calls = int64(*starts)
		b.Add(row)
	}
	return nil
}

// coldCall measures the first call of a new image reference, and then deletes all function pods.
func (b *bench) coldCall(ctx context.Context) (took time.Duration, err error) {
	image, err := b.function.push(ctx, function.Standby)
	if err != nil {
		return 0, err
	}
	client, err := b.Dial(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	begin := time.Now()
	if err := evaluate(ctx, client, image, function.List(function.Small)); err != nil {
		return 0, fmt.Errorf("first call of %s: %w", image, err)
	}
	return time.Since(begin), b.DeleteFunctionPods(ctx)
}
