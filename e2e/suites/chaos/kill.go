// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package chaos

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("Under load", Label("chaos"), func() {
	BeforeEach(configure)

	DescribeTable("a function runner is killed, and calls to the others succeed", func(ctx context.Context, kill func(context.Context, *corev1.Pod) error) {
		image, watch := warmUp(ctx), f.Watch(ctx)
		runners, err := f.Runners(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(runners).To(HaveLen(2))
		loads := callPods(ctx, image, runners[0].Name, runners[1].Name)
		Expect(kill(ctx, &runners[0])).To(Succeed())
		fixture.AwaitCalls(ctx, loads[1], 100)
		Expect(loads[1].Stop()).To(BeEmpty())
		// Calls over connections to the killed function runner may have failed, so its load is replaced by a new one.
		loads[0].Stop()
		Expect(f.AwaitReplaced(ctx, &runners[0])).To(Succeed())
		Expect(f.AwaitSettled(ctx)).To(Succeed())
		after := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, after, 100)
		Expect(after.Stop()).To(BeEmpty())
		Expect(watch.Deleted(image)).To(BeEmpty())
		Expect(watch.MaxLive(image)).To(BeNumerically("<=", maxPods))
	},
		Entry("its process", func(ctx context.Context, pod *corev1.Pod) error { return f.KillContainer(ctx, pod) }),
		Entry("its pod", func(ctx context.Context, pod *corev1.Pod) error { return f.Kill(ctx, pod.Namespace, pod.Name) }),
	)

	DescribeTable("a function pod stops, and only calls that it ran fail", func(ctx context.Context, mostLost, mostPods int, remove func(context.Context, *corev1.Pod) error) {
		image, watch := warmUp(ctx), f.Watch(ctx)
		pods, err := f.FunctionPods(ctx, image)
		Expect(err).NotTo(HaveOccurred())
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)
		Expect(remove(ctx, &pods[0])).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 300)
		errs := calls.Stop()
		Expect(len(errs)).To(BeNumerically("<=", mostLost), "%v", errs)
		Expect(calls.Longest()).To(BeNumerically("<", detectionTimeout+coldStart))
		Expect(watch.MaxLive(image)).To(BeNumerically("<=", mostPods))
		Eventually(ctx, f.FunctionPods).WithArguments(ctx, image).WithTimeout(patience).Should(HaveLen(maxPods))
	},
		Entry("deleted", 0, maxPods, func(ctx context.Context, pod *corev1.Pod) error {
			return f.Client.CoreV1().Pods(f.Release.FunctionNamespace).Delete(ctx, pod.Name, metav1.DeleteOptions{})
		}),
		Entry("deleted without a grace period", perPod, maxPods, func(ctx context.Context, pod *corev1.Pod) error {
			return f.Kill(ctx, pod.Namespace, pod.Name)
		}),
		// A killed container does not count towards the maximum until it is back, so there can be one pod too many for a moment.
		Entry("killed by its node", perPod, maxPods+1, func(ctx context.Context, pod *corev1.Pod) error { return f.KillContainer(ctx, pod) }),
	)

	It("all pods of a function hang, and new pods take over its calls", func(ctx context.Context) {
		image := warmUp(ctx)
		pods, err := f.FunctionPods(ctx, image)
		Expect(err).NotTo(HaveOccurred())
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)
		for _, pod := range pods {
			Expect(f.StopContainer(ctx, &pod)).To(Succeed())
		}
		fixture.AwaitCalls(ctx, calls, 300)
		errs := calls.Stop()
		Expect(len(errs)).To(BeNumerically("<=", callers), "%v", errs)
		Expect(calls.Longest()).To(BeNumerically("<", detectionTimeout+coldStart))
		Eventually(ctx, f.FunctionPods).WithArguments(ctx, image).WithTimeout(patience).Should(HaveEach(
			WithTransform(func(pod corev1.Pod) string { return string(pod.UID) }, Not(BeElementOf(string(pods[0].UID), string(pods[1].UID))))))
	})

	It("a user changes the labels of function pods, and no call fails", func(ctx context.Context) {
		image := warmUp(ctx)
		pods, err := f.FunctionPods(ctx, image)
		Expect(err).NotTo(HaveOccurred())
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		for i, label := range []string{install.OrdinalLabel, install.ImageLabel} {
			fixture.AwaitCalls(ctx, calls, 100)
			Expect(f.Relabel(ctx, &pods[i], label, "changed")).To(Succeed())
		}
		fixture.AwaitCalls(ctx, calls, 300)
		Expect(calls.Stop()).To(BeEmpty())
		Expect(f.Evaluate(ctx, image)).To(Succeed())
	})
})

var _ = Describe("Without an API server", Serial, Label("chaos"), func() {
	BeforeEach(configure)

	AfterEach(func(ctx context.Context) { Expect(f.StartAPIServer(ctx)).To(Succeed()) })

	It("calls to warm functions succeed, and all calls succeed after it recovers", func(ctx context.Context) {
		const outage = 30 * time.Second
		image := warmUp(ctx)
		clients := f.Callers(ctx, callers)
		cold := f.Push(ctx, hostile.Echo)
		Expect(f.StopAPIServer(ctx)).To(Succeed())
		calls := f.Load(ctx, clients, image, work)
		for end := time.Now().Add(outage); time.Now().Before(end); {
			fixture.AwaitCalls(ctx, calls, 100)
		}
		Expect(calls.Errors()).To(BeEmpty())
		Expect(f.StartAPIServer(ctx)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 100)
		Expect(calls.Stop()).To(BeEmpty())

		By("calling a function that has no pod yet")
		client := f.Caller(ctx)
		Eventually(ctx, func() error {
			ctx, cancel := context.WithTimeout(ctx, patience/2)
			defer cancel()
			_, err := client.Evaluate(ctx, cold, hostile.List(0))
			return err
		}).WithTimeout(patience).Should(Succeed())
	})
})
