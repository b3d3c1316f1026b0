// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package release tests the life cycle of the chart: installation, upgrade, rollback and uninstallation, which must delete all objects.
package release

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

const (
	// callers is the number of connections of a load, each with one call at a time. work is the duration of a call.
	callers, work = 6, 20 * time.Millisecond
	// deletionTimeout is the time limit for deleted objects to disappear.
	deletionTimeout = time.Minute
)

var f = fixture.Shared()

// inventory lists the objects of krmfn in the cluster.
func inventory(ctx context.Context) []string {
	GinkgoHelper()
	all, err := f.Inventory(ctx)
	Expect(err).NotTo(HaveOccurred())
	return all
}

// leftovers lists the objects that exist now and did not exist before. It ignores objects that have disappeared since, because pods of the
// previous spec can still be terminating.
func leftovers(ctx context.Context, before []string) []string {
	GinkgoHelper()
	return slices.DeleteFunc(inventory(ctx), func(object string) bool { return slices.Contains(before, object) })
}

var _ = Describe("The chart", Label("release", "smoke"), func() {
	It("passes helm test with a function as an executable and one in a pod", func(ctx context.Context) {
		f.Configure(ctx, map[string]any{
			"extraArgs": []any{},
			"tests": map[string]any{"functions": []any{
				map[string]any{"image": "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0", "config": map[string]any{"tested-by": "helm"}},
				map[string]any{"image": f.Push(ctx, hostile.Echo)},
			}},
		})
		Expect(f.Test()).To(Succeed())
	})

	It("fails helm test if a function fails", func(ctx context.Context) {
		f.Configure(ctx, map[string]any{"tests": map[string]any{"functions": []any{map[string]any{"image": f.Push(ctx, hostile.Exit)}}}})
		Expect(f.Test()).To(MatchError(ContainSubstring("krmfn-test-0")))
	})
})

var _ = Describe("Under load, without failed calls", Label("release"), func() {
	It("the release is upgraded, which replaces function runners and function pods, and rolled back", func(ctx context.Context) {
		f.Configure(ctx, map[string]any{"replicas": 2, "shutdownDelay": install.ShutdownDelay})
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)
		tag, err := f.Retag(ctx, "next")
		Expect(err).NotTo(HaveOccurred())
		f.Configure(ctx, map[string]any{
			"replicas": 2, "shutdownDelay": install.ShutdownDelay, "image": map[string]any{"tag": tag}, "pods": map[string]any{"maxConcurrentEvaluationsPerPod": 5},
		})
		fixture.AwaitCalls(ctx, calls, 200)
		Expect(f.Rollback(ctx)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 200)
		Expect(calls.Stop()).To(BeEmpty())
	})
})

var _ = Describe("An uninstalled release", Label("release"), Ordered, ContinueOnFailure, func() {
	everything := func(ctx context.Context) map[string]any {
		return map[string]any{
			"images":      map[string]any{"policy": map[string]any{"floatingTags": "warn"}},
			"imageWarmer": map[string]any{"enabled": true, "images": []any{f.Push(ctx, hostile.Echo)}},
			"taskHandler": map[string]any{"enabled": true, "replicas": 1, "resources": map[string]any{"requests": map[string]any{"cpu": "10m", "memory": "32Mi"}}},
			"monitoring":  map[string]any{"dashboard": map[string]any{"enabled": true}},
			"functionNamespace": map[string]any{
				"resourceQuota": map[string]any{"pods": "50"},
				"limitRange":    []any{map[string]any{"type": "Container", "max": map[string]any{"memory": "8Gi"}}},
			},
		}
	}

	It("leaves no objects", func(ctx context.Context) {
		Expect(f.Remove(ctx)).To(Succeed())
		before := inventory(ctx)
		f.Configure(ctx, everything(ctx))
		Expect(f.Evaluate(ctx, f.Push(ctx, hostile.Echo))).To(Succeed())
		Expect(len(leftovers(ctx, before))).To(BeNumerically(">", 20))
		f.Unconfigure()
		Expect(f.Remove(ctx)).To(Succeed())
		Eventually(ctx, leftovers).WithArguments(before).WithTimeout(deletionTimeout).WithPolling(time.Second).Should(BeEmpty())
	})

	It("leaves no objects in a function namespace that it did not create", func(ctx context.Context) {
		Expect(f.MakeFunctionNamespace(ctx)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(f.DeleteFunctionNamespace(ctx)).To(Succeed()) })
		before := inventory(ctx)
		values := everything(ctx)
		values["functionNamespace"] = map[string]any{"create": false}
		f.Configure(ctx, values)
		Expect(f.Evaluate(ctx, f.Push(ctx, hostile.Echo))).To(Succeed())
		f.Unconfigure()
		Expect(f.Remove(ctx)).To(Succeed())
		Eventually(ctx, leftovers).WithArguments(before).WithTimeout(deletionTimeout).WithPolling(time.Second).Should(BeEmpty())
	})
})

var _ = Describe("With Porch installed", Label("release"), func() {
	It("its function runner is replaced under load without failed calls, and restored", func(ctx context.Context) {
		Expect(f.Remove(ctx)).To(Succeed())
		f.Unconfigure()
		porch, err := f.InstallPorch(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) { Expect(porch.Delete(ctx)).To(Succeed()) })
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)
		Expect(f.Adopt(ctx, map[string]any{"shutdownDelay": install.ShutdownDelay, "functionNamespace": map[string]any{"create": false}})).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 100)
		Expect(calls.Stop()).To(BeEmpty())
		By("restoring Porch's function runner")
		Expect(f.Remove(ctx)).To(Succeed())
		Expect(porch.Apply(ctx)).To(Succeed())
		Expect(f.Evaluate(ctx, image)).To(Succeed())
	})
})
