// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package smoke

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// patience is the time limit for a pod to complete.
const patience = time.Minute

// restricted returns a pod that runs one command and satisfies the Pod Security Standard "restricted".
func restricted(name, image string, command ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot:   new(true),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "main", Image: image, Command: command,
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: new(false),
					Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// on schedules a pod to a node, including the control plane.
func on(pod *corev1.Pod, node string) *corev1.Pod {
	pod.Spec.NodeSelector = map[string]string{corev1.LabelHostname: node}
	pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	return pod
}

// outputOf runs a pod until it succeeds, and returns its logs.
func outputOf(ctx context.Context, pod *corev1.Pod) string {
	GinkgoHelper()
	pods := f.Client.CoreV1().Pods(namespace)
	_, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	var ended *corev1.Pod
	Eventually(ctx, func(g Gomega) {
		ended, err = pods.Get(ctx, pod.Name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(ended.Status.Phase).To(BeElementOf(corev1.PodSucceeded, corev1.PodFailed), ended.Status.String())
	}).WithTimeout(patience).WithPolling(100 * time.Millisecond).Should(Succeed())
	text, err := pods.GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(ended.Status.Phase).To(Equal(corev1.PodSucceeded), string(text))
	return string(text)
}
