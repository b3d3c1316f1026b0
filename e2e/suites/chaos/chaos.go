// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package chaos tests that failures around the function runner affect no more calls than necessary.
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
	// callers is the number of connections of a load, each with one call at a time. work is the duration of a call.
	callers, work = 8, 20 * time.Millisecond
	// patience is the time limit for recovery after a failure.
	patience = 90 * time.Second
)

var f = fixture.Shared()

// configure applies the default values of the suite.
func configure(ctx context.Context) {
	f.Configure(ctx, map[string]any{"replicas": 2, "pods": map[string]any{
		"maxParallelPodsPerFunction": maxPods, "maxWaitlistLength": 1, "maxConcurrentEvaluationsPerPod": perPod, "scanInterval": "1s",
	}})
}

// warmUp pushes a function and makes the function runner create the maximum number of pods.
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

// callPods starts a load on each of the given function runners. The loads share the callers equally.
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
