// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package chaos checks that what breaks around the function runner takes no more calls with it than it must.
package chaos

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
	"github.com/krmfn/krmfn/e2e/load"
)

const (
	// maxPods and perPod are the limits of each function in this suite.
	maxPods, perPod = 2, 4
	// callers are the connections of a load, each with one call at a time of as long as work.
	callers, work = 8, 20 * time.Millisecond
	// patience is how long what has been broken may take to be whole again.
	patience = 90 * time.Second
)

var f = fixture.Shared()

// configure applies the values of specs that need no others.
func configure(ctx context.Context) {
	f.Configure(ctx, map[string]any{"replicas": 2, "pods": map[string]any{
		"maxParallelPodsPerFunction": maxPods, "maxWaitlistLength": 1, "maxConcurrentEvaluationsPerPod": perPod, "scanInterval": "1s",
	}})
}

// warmUp pushes a function and gives it all its pods.
func warmUp(ctx context.Context) string {
	GinkgoHelper()
	image := f.Push(ctx, hostile.Echo)
	client := f.Caller(ctx)
	Expect(fixture.Together(2*maxPods, func(int) error {
		_, err := client.Evaluate(ctx, image, hostile.List(2*time.Second))
		return err
	})).To(HaveEach(Succeed()))
	pods, err := f.FunctionPods(ctx, image)
	Expect(err).NotTo(HaveOccurred())
	Expect(pods).To(HaveLen(maxPods))
	return image
}

// callPods starts a load on function runners, each with the same share of the callers, and returns one load for each.
func callPods(ctx context.Context, image string, runners ...string) []*load.UntilStopped {
	GinkgoHelper()
	loads := make([]*load.UntilStopped, 0, len(runners))
	for _, runner := range runners {
		clients := make([]*install.Client, callers/len(runners))
		for i := range clients {
			client, err := f.DialPod(ctx, runner)
			Expect(err).NotTo(HaveOccurred())
			clients[i] = client
		}
		loads = append(loads, f.Load(ctx, clients, image, work))
	}
	for _, l := range loads {
		fixture.AwaitCalls(ctx, l, 20)
	}
	return loads
}
