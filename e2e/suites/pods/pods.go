// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package pods tests the evaluation of functions in pods from the perspective of Porch: calls go to the function runner's port, and specs
// inspect pods through the Kubernetes API.
package pods

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

const (
	// maxPods is the maximum number of pods of each function, and perPod is the maximum number of concurrent calls of a pod.
	maxPods, perPod    = 2, 4
	patience, promptly = fixture.Patience, fixture.Promptly
)

var (
	f = fixture.Shared()
	// unschedulable requests more CPU than any node has. Idle pods of expiring expire quickly. warm always has one warm pod.
	unschedulable, expiring, warm string
)

// configure applies the chart values for specs that use the built-in pod template.
func configure(ctx context.Context) {
	if warm == "" {
		unschedulable, expiring, warm = f.Push(ctx, hostile.Echo), f.Push(ctx, hostile.Echo), f.Push(ctx, hostile.Echo)
	}
	f.Configure(ctx, map[string]any{
		"pods": limits("30s"),
		"functions": []any{
			map[string]any{"name": unschedulable, "resources": map[string]any{"requests": map[string]any{"cpu": "1000"}, "limits": map[string]any{"cpu": "1000"}}},
			map[string]any{"name": expiring, "timeToLive": "3s"},
			map[string]any{"name": warm, "timeToLive": "3s", "minWarmPods": 1},
		},
	})
}

func limits(readyTimeout string) map[string]any {
	return map[string]any{
		"maxParallelPodsPerFunction": maxPods, "maxWaitlistLength": 1, "maxConcurrentEvaluationsPerPod": perPod,
		"scanInterval": "1s", "readyTimeout": readyTimeout,
	}
}

// atOnce makes concurrent calls with one connection each. It opens all connections before the first call.
func atOnce(ctx context.Context, calls int, image string, sleep time.Duration) []error {
	GinkgoHelper()
	clients := f.Callers(ctx, calls)
	return fixture.Together(calls, func(number int) error {
		defer clients[number].Close()
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		_, err := clients[number].Evaluate(ctx, image, hostile.List(sleep))
		return err
	})
}

// podsOf lists the live pods of a function.
func podsOf(ctx context.Context, image string) []corev1.Pod {
	GinkgoHelper()
	pods, err := f.FunctionPods(ctx, image)
	Expect(err).NotTo(HaveOccurred())
	return pods
}

// onlyPodOf returns the pod of a function. It fails the spec unless the function has exactly one.
func onlyPodOf(ctx context.Context, image string) corev1.Pod {
	GinkgoHelper()
	pods := podsOf(ctx, image)
	Expect(pods).To(HaveLen(1), image)
	return pods[0]
}
