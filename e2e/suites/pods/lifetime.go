// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("Pods", Label("smoke"), Ordered, ContinueOnFailure, func() {
	BeforeAll(configure)

	It("are deleted after they have been idle", func(ctx context.Context) {
		Expect(atOnce(ctx, 4, expiring, time.Second)).To(HaveEach(Succeed()))
		Expect(podsOf(ctx, expiring)).NotTo(BeEmpty())
		Eventually(ctx, podsOf).WithArguments(ctx, expiring).WithTimeout(patience).Should(BeEmpty())
		Expect(f.Evaluate(ctx, expiring)).To(Succeed())
	})

	It("stay up to the minimum, and are created again after a deletion", func(ctx context.Context) {
		kept := readyPod(ctx, warm, "")
		// The timeout exceeds the sum of the time to live and the scan interval.
		Consistently(ctx, func() []types.UID { return uids(podsOf(ctx, warm)) }).WithTimeout(6 * time.Second).Should(ConsistOf(kept.UID))
		Expect(f.Client.CoreV1().Pods(f.Release.FunctionNamespace).Delete(ctx, kept.Name, metav1.DeleteOptions{})).To(Succeed())
		readyPod(ctx, warm, kept.UID)
		Expect(f.Evaluate(ctx, warm)).To(Succeed())
	})

	It("are adopted by a new function runner", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		before := onlyPodOf(ctx, image)
		watch := f.Watch(ctx)
		Expect(f.Restart(ctx)).To(Succeed())
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		Expect(onlyPodOf(ctx, image).UID).To(Equal(before.UID))
		Expect(watch.Deleted(image)).To(BeEmpty())
		Expect(watch.MaxLive(image)).To(Equal(1))
	})

	It("of Porch's function runner are not changed", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		foreign := foreignPod(ctx, image)
		Expect(f.Restart(ctx)).To(Succeed())
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		Expect(onlyPodOf(ctx, image).Labels).To(HaveKey(install.PoolLabel))
		Consistently(ctx, func(g Gomega) {
			found, err := f.Client.CoreV1().Pods(f.Release.FunctionNamespace).Get(ctx, foreign.Name, metav1.GetOptions{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found.DeletionTimestamp).To(BeNil())
		}).WithTimeout(3 * time.Second).Should(Succeed())
	})
})

// readyPod waits for a ready pod of a function with a UID other than the given one.
func readyPod(ctx context.Context, image string, other types.UID) (ready corev1.Pod) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		for _, pod := range podsOf(ctx, image) {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue && pod.UID != other {
					ready = pod
					return
				}
			}
		}
		g.Expect(false).To(BeTrue(), "no pod of %s is ready", image)
	}).WithTimeout(patience).WithPolling(100 * time.Millisecond).Should(Succeed())
	return ready
}

func uids(pods []corev1.Pod) []types.UID {
	all := make([]types.UID, 0, len(pods))
	for _, pod := range pods {
		all = append(all, pod.UID)
	}
	return all
}

// foreignPod creates a pod like the ones that Porch's own function runner leaves behind.
func foreignPod(ctx context.Context, image string) *corev1.Pod {
	GinkgoHelper()
	const name = "echo-v1-1-01234567"
	made, err := f.Client.CoreV1().Pods(f.Release.FunctionNamespace).Create(ctx, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{install.ImageLabel: name},
			Annotations: map[string]string{"fn.kpt.dev/template-version": "inline-v1"},
		},
		Spec: corev1.PodSpec{
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: new(true), RunAsUser: new(int64(10001)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "function", Image: image, Command: []string{hostile.Path, "stall"},
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return made
}
