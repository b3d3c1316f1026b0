// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package release

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("From the previous release, under load without failed calls", Label("release", "upgrade"), SpecPriority(1), func() {
	It("the release is upgraded, its pools are replaced as documented, and it is rolled back", func(ctx context.Context) {
		former, err := f.Previous(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(f.Remove(ctx)).To(Succeed())
		f.Unconfigure()
		DeferCleanup(func(ctx context.Context) {
			Expect(f.Remove(ctx)).To(Succeed())
			f.Unconfigure()
		})
		replicas := map[string]any{
			"replicas": 2, "shutdownDelay": install.ShutdownDelay,
			"pods": map[string]any{"scanInterval": "5s"},
		}
		Expect(f.ApplyPrevious(ctx, former, replicas)).To(Succeed())
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		before := poolsOf(ctx, image)
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)

		By("upgrading")
		Expect(f.Apply(ctx, replicas)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 200)
		Expect(calls.Errors()).To(BeEmpty())
		// The wrapper server's image is part of the pod template, so an upgrade supersedes all pools, and no call reaches a wrapper server
		// of another release.
		Eventually(ctx, func(ctx context.Context) []string { return poolsOf(ctx, image) }).WithTimeout(replacementTimeout).WithPolling(time.Second).
			ShouldNot(ContainElement(BeElementOf(before)))

		By("rolling back")
		Expect(f.Rollback(ctx)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 200)
		Expect(calls.Stop()).To(BeEmpty())
		Eventually(ctx, func(ctx context.Context) []string { return poolsOf(ctx, image) }).WithTimeout(replacementTimeout).WithPolling(time.Second).
			Should(HaveEach(BeElementOf(before)))
	})
})

// replacementTimeout is the time limit for superseded pods to disappear. Function runners delete them after they have been unused for the
// scan interval plus 30 seconds.
const replacementTimeout = 3 * time.Minute

// poolsOf returns the pools of a function's live pods.
func poolsOf(ctx context.Context, image string) []string {
	GinkgoHelper()
	pods, err := f.FunctionPods(ctx, image)
	Expect(err).NotTo(HaveOccurred())
	pools := make([]string, 0, len(pods))
	for i := range pods {
		pools = append(pools, pods[i].Labels[install.PoolLabel])
	}
	return pools
}
