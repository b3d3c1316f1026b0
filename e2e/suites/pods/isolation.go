// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("Settings of function pods", Ordered, ContinueOnFailure, func() {
	const priorityClass = "e2e-functions"
	var strict string

	BeforeAll(func(ctx context.Context) {
		strict = f.PushAs(ctx, hostile.Echo, "e2e/strict/echo:v1")
		classes := f.Client.SchedulingV1().PriorityClasses()
		_, err := classes.Create(ctx, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: priorityClass}, Value: 17}, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) {
			Expect(classes.Delete(ctx, priorityClass, metav1.DeleteOptions{})).To(Succeed())
		})
		f.Configure(ctx, map[string]any{
			"pods": limits("30s"),
			// The container has no command, so that the function runner injects the wrapper server.
			"functionPodTemplate": map[string]any{"pod": map[string]any{
				"apiVersion": "v1", "kind": "Pod",
				"spec": map[string]any{"containers": []any{map[string]any{
					"name": "function", "env": []any{map[string]any{"name": "GREETING", "value": "hello"}},
				}}},
			}},
			"functionPods": map[string]any{
				"defaults": map[string]any{
					"metadata": map[string]any{"labels": map[string]any{"team": "platform"}},
					"spec": map[string]any{
						"priorityClassName": priorityClass,
						"tolerations":       []any{map[string]any{"key": "functions", "operator": "Exists", "effect": "NoSchedule"}},
					},
				},
				"overrides": []any{map[string]any{
					"images": []any{f.Registry + "/e2e/strict/*"},
					"spec": map[string]any{"securityContext": map[string]any{
						"seccompProfile": map[string]any{"type": "Localhost", "localhostProfile": "no/such/profile.json"},
					}},
				}},
			},
		})
	})

	It("are merged into a custom template, which gets the wrapper server", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		pod := onlyPodOf(ctx, image)
		Expect(pod.Labels).To(HaveKeyWithValue("team", "platform"))
		Expect(pod.Spec.Priority).To(HaveValue(BeEquivalentTo(17)))
		Expect(pod.Spec.Tolerations).To(ContainElement(corev1.Toleration{
			Key: "functions", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
		}))
		Expect(pod.Spec.Containers[0].Env).To(ContainElement(corev1.EnvVar{Name: "GREETING", Value: "hello"}))
		Expect(pod.Spec.SecurityContext.RunAsNonRoot).To(HaveValue(BeTrue()))
	})

	It("with a seccomp profile that the node lacks fail calls with the reason", func(ctx context.Context) {
		Expect(f.Failure(ctx, strict)).To(MatchError(ContainSubstring("no/such/profile.json")))
	})
})
