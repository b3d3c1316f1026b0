// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package release

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

// installPorch uninstalls krmfn and installs Porch's function runner, until the end of the spec.
func installPorch(ctx context.Context) *install.Porch {
	GinkgoHelper()
	Expect(f.Remove(ctx)).To(Succeed())
	f.Unconfigure()
	porch, err := f.InstallPorch(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		left := f.Leave()
		Expect(porch.Delete(ctx)).To(Succeed())
		Expect(left).To(Succeed())
	})
	return porch
}

// expectPermissions expects that the service account of Porch's function runner has all its permissions.
func expectPermissions(ctx context.Context, porch *install.Porch) {
	GinkgoHelper()
	permissions, err := porch.Permissions()
	Expect(err).NotTo(HaveOccurred())
	Expect(len(permissions)).To(BeNumerically(">", 10))
	for _, what := range permissions {
		Expect(f.May(ctx, "porch-fn-runner", &what)).To(BeTrue(), "%v", what)
	}
}

// replicas returns the desired number of function runners.
func replicas(ctx context.Context) int32 {
	GinkgoHelper()
	deployment, err := f.Client.AppsV1().Deployments(f.Release.Namespace).Get(ctx, "function-runner", metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	return *deployment.Spec.Replicas
}

// runners returns the pods of function runners of krmfn, and of those of Porch.
func runners(ctx context.Context) (krmfn, porch []corev1.Pod) {
	GinkgoHelper()
	all, err := f.Runners(ctx)
	Expect(err).NotTo(HaveOccurred())
	for _, pod := range all {
		if pod.Labels["app.kubernetes.io/name"] == "krmfn" {
			krmfn = append(krmfn, pod)
		} else {
			porch = append(porch, pod)
		}
	}
	return krmfn, porch
}

// watchFunctionPods watches until the returned function is called, which returns the function pods that were terminating while a function
// runner of krmfn was running.
func watchFunctionPods(ctx context.Context) (stop func() []string) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var early []string
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
			pods, err := f.Client.CoreV1().Pods(f.Release.FunctionNamespace).List(ctx, metav1.ListOptions{LabelSelector: install.PoolLabel})
			if err != nil {
				continue
			}
			krmfn, err := f.Client.CoreV1().Pods(f.Release.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=function-runner,app.kubernetes.io/name=krmfn"})
			if err != nil || !slices.ContainsFunc(krmfn.Items, func(pod corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }) {
				continue
			}
			for _, pod := range pods.Items {
				if pod.DeletionTimestamp != nil && !slices.Contains(early, pod.Name) {
					early = append(early, pod.Name)
				}
			}
		}
	}()
	return func() []string {
		cancel()
		<-done
		return early
	}
}

var _ = Describe("A takeover of Porch's function runner with an image that does not exist", Label("release"), func() {
	It("fails no call, keeps the objects that Porch's function runner needs, and is completed by upgrades", func(ctx context.Context) {
		porch := installPorch(ctx)
		image := f.Push(ctx, hostile.Echo)
		probe, service := f.NewProbe(ctx), "function-runner."+f.Release.Namespace+":9445"
		calls := probe.Call(ctx, "caller", service, image)
		calls.Await(ctx, 20)
		values := map[string]any{"replicas": 2, "shutdownDelay": install.ShutdownDelay, "functionNamespace": map[string]any{"create": false}}
		Expect(f.AdoptUnready(ctx, install.MergeValues(values, map[string]any{"image": map[string]any{"tag": "nosuch"}}))).To(Succeed())
		Eventually(ctx, func(ctx context.Context) string {
			krmfn, _ := runners(ctx)
			if len(krmfn) == 0 || len(krmfn[0].Status.ContainerStatuses) == 0 || krmfn[0].Status.ContainerStatuses[0].State.Waiting == nil {
				return ""
			}
			return krmfn[0].Status.ContainerStatuses[0].State.Waiting.Reason
		}).WithTimeout(time.Minute).WithPolling(200 * time.Millisecond).Should(BeElementOf("ErrImagePull", "ImagePullBackOff"))
		expectPermissions(ctx, porch)
		calls.Await(ctx, 40)
		Expect(replicas(ctx)).To(BeEquivalentTo(1))
		_, old := runners(ctx)
		Expect(old).To(HaveLen(1))
		calls.Stop(ctx)

		By("restarting Porch's function runner")
		Expect(f.Kill(ctx, old[0].Namespace, old[0].Name)).To(Succeed())
		Eventually(ctx, func(ctx context.Context) bool {
			_, pods := runners(ctx)
			return len(pods) == 1 && pods[0].UID != old[0].UID && len(pods[0].Status.ContainerStatuses) == 1 && pods[0].Status.ContainerStatuses[0].Ready
		}).WithTimeout(time.Minute).WithPolling(200 * time.Millisecond).Should(BeTrue())
		Expect(f.Evaluate(ctx, image)).To(Succeed())

		By("completing it")
		calls = probe.Call(ctx, "another-caller", service, image)
		Expect(f.Apply(ctx, values)).To(Succeed())
		Expect(replicas(ctx)).To(BeEquivalentTo(1))
		calls.Await(ctx, 20)
		Expect(f.Apply(ctx, values)).To(Succeed())
		Expect(replicas(ctx)).To(BeEquivalentTo(2))
		calls.Await(ctx, 20)
		krmfn, old := runners(ctx)
		Expect(old).To(BeEmpty())
		Expect(krmfn).To(HaveLen(2))
	})
})
