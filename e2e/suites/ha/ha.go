// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package ha tests that any number of function runners share one pool of pods, and that no call fails during a graceful shutdown of a
// function runner.
package ha

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
	"github.com/krmfn/krmfn/e2e/load"
)

const (
	maxPods = 4
	// callers is the number of connections of a load, each with one call at a time. work is the duration of a call.
	callers, work = 12, 20 * time.Millisecond
	timeToLive    = 10 * time.Second
)

var (
	f = fixture.Shared()
	// shortLived is a function whose pods expire after they have been idle for timeToLive.
	shortLived string
)

func configure(ctx context.Context) {
	if shortLived == "" {
		shortLived = f.Push(ctx, hostile.Echo)
	}
	f.Configure(ctx, map[string]any{
		"shutdownDelay": install.ShutdownDelay,
		"pods": map[string]any{
			"maxParallelPodsPerFunction": maxPods, "maxWaitlistLength": 1, "scanInterval": "1s",
		},
		"functions": []any{map[string]any{"name": shortLived, "timeToLive": timeToLive.String()}},
	})
}

var _ = Describe("Under load", Label("ha"), func() {
	BeforeEach(configure)

	DescribeTable("function runners share the pods of a function", func(ctx context.Context, replicas int32) {
		Expect(f.Scale(ctx, replicas)).To(Succeed())
		image, watch := f.Push(ctx, hostile.Echo), f.Watch(ctx)
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 500)
		Expect(calls.Stop()).To(BeEmpty())
		Expect(watch.MaxLive(image)).To(BeNumerically("<=", maxPods))
		Expect(watch.Deleted(image)).To(BeEmpty())
	},
		Entry("one", int32(1)),
		Entry("two", int32(2)),
		Entry("three", int32(3)),
	)

	It("function runners distribute calls evenly over all pods", func(ctx context.Context) {
		const replicas, each = 3, 6
		Expect(f.Scale(ctx, replicas)).To(Succeed())
		runners, err := f.Runners(ctx)
		Expect(err).NotTo(HaveOccurred())
		image := f.Push(ctx, hostile.Echo)
		shares := &shares{image: image, list: hostile.List(work), calls: map[string]int{}}
		var all []share
		for _, runner := range runners {
			for _, client := range onlyAt(ctx, runner.Name, each) {
				all = append(all, share{client, shares})
			}
		}
		calls := load.Start(ctx, all)
		DeferCleanup(func() { calls.Stop() })
		// A starting pod does not count, so wait until all pods have run calls.
		Eventually(ctx, shares.pods).WithTimeout(time.Minute).Should(Equal(maxPods))
		fixture.AwaitCalls(ctx, calls, 200)
		shares.reset()
		fixture.AwaitCalls(ctx, calls, 2000)
		counts := shares.reset()
		Expect(calls.Stop()).To(BeEmpty())
		Expect(counts).To(HaveLen(maxPods))
		least, most := slices.Min(counts), slices.Max(counts)
		Expect(most).To(BeNumerically("<=", 2*least), "calls by pod: %v", counts)
	})

	It("idle pods are deleted, unless another function runner uses them", func(ctx context.Context) {
		Expect(f.Scale(ctx, 2)).To(Succeed())
		runners, err := f.Runners(ctx)
		Expect(err).NotTo(HaveOccurred())
		By("creating all pods with one function runner")
		maker := onlyAt(ctx, runners[0].Name, callers)
		wide := f.Load(ctx, maker, shortLived, time.Second)
		Eventually(ctx, f.FunctionPods).WithArguments(ctx, shortLived).WithTimeout(time.Minute).Should(HaveLen(maxPods))
		Expect(wide.Stop()).To(BeEmpty())
		By("using one of them from another function runner")
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
		Expect(watch.MaxLive(image)).To(BeNumerically("<=", maxPods))
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

// shares counts calls by the pod that ran them. It is safe for concurrent use.
type shares struct {
	image string
	list  []byte

	mu    sync.Mutex
	calls map[string]int
}

// pods returns the number of pods that have run calls since the last reset.
func (s *shares) pods() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}

// reset returns the number of calls of each pod since the last reset, and resets the counts.
func (s *shares) reset() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := slices.Collect(maps.Values(s.calls))
	clear(s.calls)
	return counts
}

// share is a caller that counts its calls in shares.
type share struct {
	*install.Client
	*shares
}

func (s share) Call(ctx context.Context) error {
	_, report, err := s.EvaluateReported(ctx, s.image, s.list)
	if err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls[report.GetImplementation()]++
	}
	return err
}
