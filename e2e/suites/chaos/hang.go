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

const (
	// detectionTimeout is the time limit for function runners to detect a lost pod. coldStart is the time limit for a pod to start on a small
	// machine.
	detectionTimeout, coldStart = 5 * time.Second, 5 * time.Second
	// warmTimeout is the time limit of a call on a ready pod, whatever else fails.
	warmTimeout = 2 * time.Second
)

var _ = Describe("A node that hangs", Serial, Label("chaos"), func() {
	BeforeEach(func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) { Expect(f.CloseControlPlane(ctx)).To(Succeed()) })
		Expect(f.OpenControlPlane(ctx)).To(Succeed())
		f.Configure(ctx, map[string]any{
			"replicas": 2, "nodeSelector": map[string]any{"kubernetes.io/hostname": install.ControlPlane},
			"pods": map[string]any{
				"maxParallelPodsPerFunction": maxPods, "maxWaitlistLength": 1, "maxConcurrentEvaluationsPerPod": perPod, "scanInterval": "1s",
			},
		})
	})

	It("fails only the calls that it runs, and has no leftover pods after it recovers", func(ctx context.Context) {
		const calm = 15 * time.Second
		image, alone := f.Push(ctx, hostile.Echo), f.Push(ctx, hostile.Echo)
		onePodOnEach(ctx, image, install.ControlPlane, install.Worker)
		Expect(f.Cordon(ctx, install.ControlPlane, true)).To(Succeed())
		Expect(f.Evaluate(ctx, alone)).To(Succeed())
		Expect(f.Cordon(ctx, install.ControlPlane, false)).To(Succeed())
		client := f.Caller(ctx)
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)

		DeferCleanup(func(ctx context.Context) { Expect(f.ResumeNode(ctx, install.Worker)).To(Succeed()) })
		Expect(f.PauseNode(ctx, install.Worker)).To(Succeed())
		begin := time.Now()
		By("calling a function whose only pod was on the node")
		limited, cancel := context.WithTimeout(ctx, calm)
		defer cancel()
		_, err := client.Evaluate(limited, alone, hostile.List(0))
		Expect(err).NotTo(HaveOccurred())
		for time.Since(begin) < calm {
			fixture.AwaitCalls(ctx, calls, 50)
		}
		Expect(calls.Longest()).To(BeNumerically("<", calm))
		failed := calls.Errors()
		Expect(len(failed)).To(BeNumerically("<=", perPod), "%v", failed)

		By("resuming the node")
		Expect(f.ResumeNode(ctx, install.Worker)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 300)
		Expect(calls.Stop()).To(HaveLen(len(failed)), "calls failed after the node was resumed")
		Expect(calls.Longest()).To(BeNumerically("<", calm))
		Eventually(ctx, allPods).WithArguments(ctx).WithTimeout(patience).WithPolling(time.Second).Should(SatisfyAll(
			Not(BeEmpty()), HaveEach(HaveField("Ready", true)),
		))
		Eventually(ctx, func() (int, error) {
			pods, err := f.FunctionPods(ctx, image)
			return len(pods), err
		}).WithTimeout(patience).Should(BeNumerically("<=", maxPods))
	})
})

var _ = Describe("An API server that hangs", Serial, Label("chaos"), func() {
	It("does not delay warm calls, not even while pods expire", func(ctx context.Context) {
		const hang, timeToLive, idle = 40 * time.Second, 20 * time.Second, 4
		f.Configure(ctx, map[string]any{"replicas": 2, "pods": map[string]any{
			"maxParallelPodsPerFunction": maxPods, "maxWaitlistLength": 1, "maxConcurrentEvaluationsPerPod": perPod,
			"ttl": timeToLive.String(), "scanInterval": "1s",
		}})
		image, client := warmUp(ctx), f.Caller(ctx)
		clients := f.Callers(ctx, callers)
		sleeping := make([]string, idle)
		for i := range sleeping {
			sleeping[i] = f.Push(ctx, hostile.Echo)
		}
		// All pods start at once, so that none of them expires before the API server hangs.
		Expect(fixture.Together(idle, func(number int) error {
			_, err := client.Evaluate(ctx, sleeping[number], hostile.List(0))
			return err
		})).To(HaveEach(Succeed()))
		DeferCleanup(func(ctx context.Context) { Expect(f.ResumeAPIServer(ctx)).To(Succeed()) })
		Expect(f.HangAPIServer(ctx)).To(Succeed())
		begin := time.Now()
		calls := f.Load(ctx, clients, image, work)
		for time.Since(begin) < timeToLive+10*time.Second {
			fixture.AwaitCalls(ctx, calls, 100)
		}
		for _, image := range sleeping {
			ctx, cancel := context.WithTimeout(ctx, warmTimeout)
			_, err := client.Evaluate(ctx, image, hostile.List(0))
			cancel()
			Expect(err).NotTo(HaveOccurred(), image)
		}
		for time.Since(begin) < hang {
			fixture.AwaitCalls(ctx, calls, 100)
		}
		Expect(f.ResumeAPIServer(ctx)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 100)
		Expect(calls.Stop()).To(BeEmpty())
		Expect(calls.Longest()).To(BeNumerically("<", warmTimeout))
	})
})

// onePodOnEach makes the function runner create one pod of a function on each of the given nodes.
func onePodOnEach(ctx context.Context, image string, nodes ...string) {
	GinkgoHelper()
	client := f.Caller(ctx)
	for count, node := range nodes {
		for _, other := range nodes {
			DeferCleanup(func(ctx context.Context) { Expect(f.Cordon(ctx, other, false)).To(Succeed()) })
			Expect(f.Cordon(ctx, other, other != node)).To(Succeed())
		}
		// One concurrent call per desired pod.
		Expect(fixture.Together(count+1, func(int) error {
			_, err := client.Evaluate(ctx, image, hostile.List(2*time.Second))
			return err
		})).To(HaveEach(Succeed()))
	}
	for _, node := range nodes {
		Expect(f.Cordon(ctx, node, false)).To(Succeed())
	}
	pods, err := f.FunctionPods(ctx, image)
	Expect(err).NotTo(HaveOccurred())
	on := make([]string, 0, len(pods))
	for _, pod := range pods {
		on = append(on, pod.Spec.NodeName)
	}
	Expect(on).To(ConsistOf(nodes))
}

// podState is the externally visible state of a function pod.
type podState struct {
	Name  string
	Ready bool
}

// allPods lists all function pods. Terminating pods are not ready.
func allPods(ctx context.Context) ([]podState, error) {
	list, err := f.Client.CoreV1().Pods(f.Release.FunctionNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	states := make([]podState, 0, len(list.Items))
	for _, pod := range list.Items {
		ready := pod.DeletionTimestamp == nil
		for _, condition := range pod.Status.Conditions {
			if condition.Type == corev1.PodReady && condition.Status != corev1.ConditionTrue {
				ready = false
			}
		}
		states = append(states, podState{pod.Name, ready})
	}
	return states, nil
}
