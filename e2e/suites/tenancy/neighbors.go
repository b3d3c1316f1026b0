// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package tenancy

import (
	"context"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install/fixture"
)

func describeNeighbors() {
	Describe("Under load on one installation, without failed calls", func() {
		It("the other installation exceeds its quota and continues to call", func(ctx context.Context) {
			image, another, refused := push(ctx, shared), push(ctx, shared), push(ctx, shared)
			Expect(b.LimitPods(ctx, 0)).To(Succeed()) // The documented quota exceeds the capacity of this cluster.
			DeferCleanup(func(ctx context.Context) { Expect(b.UnlimitPods(ctx)).To(Succeed()) })
			Expect(a.Evaluate(ctx, image)).To(Succeed())
			calls := a.Load(ctx, a.Callers(ctx, callers), image, work)
			fixture.AwaitCalls(ctx, calls, 50)
			Expect(b.Failure(ctx, refused)).To(MatchError(ContainSubstring("exceeded quota")))
			noise := b.Load(ctx, b.Callers(ctx, callers), refused, work)
			fixture.AwaitCalls(ctx, calls, 100)
			Expect(a.Evaluate(ctx, another)).To(Succeed())
			Expect(calls.Stop()).To(BeEmpty())
			Expect(noise.Stop()).NotTo(BeEmpty())
			Expect(noise.Calls()).To(BeZero())
		})

		It("the other installation is uninstalled, and all objects of the first stay", func(ctx context.Context) {
			image := push(ctx, shared)
			Expect(a.Evaluate(ctx, image)).To(Succeed())
			Expect(b.Evaluate(ctx, image)).To(Succeed())
			calls, watch := a.Load(ctx, a.Callers(ctx, callers), image, work), a.Watch(ctx)
			fixture.AwaitCalls(ctx, calls, 50)
			before, commonBefore := objectsOf(ctx, a), sharedObjects(ctx)
			Expect(before).To(ContainElement("/clusterroles/krmfn-image-warmer-team-a"))
			Expect(objectsOf(ctx, b)).To(ContainElement("/clusterroles/krmfn-image-warmer-team-b"))
			b.Unconfigure()
			Expect(b.Remove(ctx)).To(Succeed())
			Eventually(ctx, objectsOf).WithArguments(ctx, b).WithTimeout(fixture.Patience).WithPolling(time.Second).Should(BeEmpty())
			fixture.AwaitCalls(ctx, calls, 100)
			Expect(calls.Stop()).To(BeEmpty())
			Expect(objectsOf(ctx, a)).To(Equal(before))
			Expect(sharedObjects(ctx)).To(Equal(commonBefore))
			Expect(watch.Deleted(image)).To(BeEmpty())
		})
	})
}

// objectsOf lists the objects of an installation: the objects in its namespaces, and cluster-scoped objects named after them.
func objectsOf(ctx context.Context, f *fixture.Fixture) []string {
	GinkgoHelper()
	return objects(ctx, f, func(object string) bool { return strings.Contains(object, f.Release.Namespace) })
}

// sharedObjects lists cluster-scoped objects that are not named after team-b. The uninstallation of team-b must not delete any of them.
func sharedObjects(ctx context.Context) []string {
	GinkgoHelper()
	return objects(ctx, a, func(object string) bool {
		return strings.HasPrefix(object, "/") && !strings.Contains(object, b.Release.Namespace)
	})
}

// objects lists the objects in an installation's inventory for which wanted returns true, except pods, which may be terminating.
func objects(ctx context.Context, f *fixture.Fixture, wanted func(string) bool) []string {
	GinkgoHelper()
	all, err := f.Inventory(ctx)
	Expect(err).NotTo(HaveOccurred())
	return slices.Sorted(slices.Values(slices.DeleteFunc(all, func(object string) bool {
		return !wanted(object) || strings.Contains(object, "/pods/")
	})))
}
