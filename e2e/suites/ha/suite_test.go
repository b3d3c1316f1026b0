// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package ha checks that any number of function runners share one pool of pods, and that no call fails when one of them shuts
// down gracefully.
package ha_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

const (
	maxPods = 3
	// callers are the connections of a load, each with one call at a time of as long as work.
	callers, work = 12, 20 * time.Millisecond
	timeToLive    = 10 * time.Second
)

var (
	f *fixture.Fixture
	// shortLived is a function whose pods go when they have been idle for timeToLive.
	shortLived string
)

func TestHA(t *testing.T) { //nolint:paralleltest // Ginkgo has its own way of it
	RegisterFailHandler(Fail)
	RunSpecs(t, "Several function runners")
}

var _ = BeforeSuite(func(ctx context.Context) {
	f = fixture.Open(ctx)
	shortLived = f.PushAs(ctx, hostile.Echo, "e2e/short-lived:v1")
	f.Configure(ctx, map[string]any{
		"pods": map[string]any{
			"maxParallelPodsPerFunction": maxPods, "maxWaitlistLength": 1, "scanInterval": "1s",
		},
		"functions": []any{map[string]any{"name": shortLived, "timeToLive": timeToLive.String()}},
	})
})

var _ = AfterEach(func(ctx context.Context) { f.Clean(ctx) })

var _ = Describe("Under load", Label("ha"), func() {
	DescribeTable("function runners share the pods of a function", func(ctx context.Context, replicas int32) {
		Expect(f.Scale(ctx, replicas)).To(Succeed())
		image, watch := f.Push(ctx, hostile.Echo), f.Watch(ctx)
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 500)
		Expect(calls.Stop()).To(BeEmpty())
		Expect(watch.Most(image)).To(BeNumerically("<=", maxPods))
		Expect(watch.Deleted(image)).To(BeEmpty())
	},
		Entry("one", int32(1)),
		Entry("two", int32(2)),
		Entry("three", int32(3)),
	)

	It("pods that are idle go, and none that only another function runner uses", func(ctx context.Context) {
		Expect(f.Scale(ctx, 2)).To(Succeed())
		runners, err := f.Runners(ctx)
		Expect(err).NotTo(HaveOccurred())
		By("having one function runner make all pods")
		maker := onlyAt(ctx, runners[0].Name, callers)
		wide := f.Load(ctx, maker, shortLived, time.Second)
		Eventually(ctx, f.FunctionPods).WithArguments(ctx, shortLived).WithTimeout(time.Minute).Should(HaveLen(maxPods))
		Expect(wide.Stop()).To(BeEmpty())
		By("having another use one of them")
		narrow := f.Load(ctx, onlyAt(ctx, runners[1].Name, 1), shortLived, work)
		Eventually(ctx, f.FunctionPods).WithArguments(ctx, shortLived).WithTimeout(time.Minute).Should(HaveLen(1))
		watch := f.Watch(ctx)
		Consistently(ctx, func() []string { return watch.Deleted(shortLived) }).WithTimeout(timeToLive + 5*time.Second).Should(BeEmpty())
		Expect(narrow.Stop()).To(BeEmpty())
	})

	DescribeTable("function runners are restarted and no call fails", func(ctx context.Context, replicas int32) {
		Expect(f.Scale(ctx, replicas)).To(Succeed())
		image, watch := f.Push(ctx, hostile.Echo), f.Watch(ctx)
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)
		Expect(f.Restart(ctx)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 100)
		Expect(calls.Stop()).To(BeEmpty())
		Expect(watch.Most(image)).To(BeNumerically("<=", maxPods))
		Expect(watch.Deleted(image)).To(BeEmpty())
	},
		Entry("one", int32(1)),
		Entry("two", int32(2)),
	)
})

// onlyAt returns connections to one function runner.
func onlyAt(ctx context.Context, pod string, count int) []*install.Client {
	GinkgoHelper()
	clients := make([]*install.Client, count)
	for i := range clients {
		client, err := f.DialPod(ctx, pod)
		Expect(err).NotTo(HaveOccurred())
		clients[i] = client
	}
	return clients
}
