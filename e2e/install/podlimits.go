// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// TestResource is an extended resource of the worker. Pods that request it fit independently of the other resources of the cluster.
const TestResource = "krmfn.dev/e2e"

// SetTestResource sets the worker's capacity of TestResource.
func (i *Installation) SetTestResource(ctx context.Context, amount int) error {
	patch := fmt.Appendf(nil, `{"status":{"capacity":{%[1]q:"%[2]d"},"allocatable":{%[1]q:"%[2]d"}}}`, TestResource, amount)
	_, err := i.Client.CoreV1().Nodes().Patch(ctx, Worker, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("set the capacity of node %s: %w", Worker, err)
	}
	return nil
}

const podQuota = "e2e-pods"

// LimitPods limits the number of pods in the function namespace with a quota, until UnlimitPods. It returns when the API server enforces
// the quota, which is later than the quota's status. The check works with any number of existing pods, because the trial pod requests
// TestResource, for which the quota is zero.
func (i *Installation) LimitPods(ctx context.Context, maxPods int) error {
	quotas := i.Client.CoreV1().ResourceQuotas(i.Release.FunctionNamespace)
	_, err := quotas.Create(ctx, &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: podQuota},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
			corev1.ResourcePods: *resource.NewQuantity(int64(maxPods), resource.DecimalSI),
			corev1.DefaultResourceRequestsPrefix + TestResource: resource.MustParse("0"),
		}},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("limit the function pods: %w", err)
	}
	return await(ctx, "the API server enforces the pod quota", func(ctx context.Context) (bool, error) {
		err := i.tryPod(ctx, corev1.ResourceList{TestResource: resource.MustParse("1")})
		// Until the API server knows the current usage, it rejects pods for another reason.
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota: "+podQuota), nil
	})
}

// UnlimitPods deletes the quota, and waits until the API server admits pods again; it enforces a deleted quota for a short time.
func (i *Installation) UnlimitPods(ctx context.Context) error {
	if err := i.Client.CoreV1().ResourceQuotas(i.Release.FunctionNamespace).Delete(ctx, podQuota, metav1.DeleteOptions{}); err != nil {
		return err
	}
	var rejected error
	err := await(ctx, "the API server no longer enforces the pod quota", func(ctx context.Context) (bool, error) {
		rejected = i.tryPod(ctx, nil)
		return rejected == nil, nil
	})
	if err != nil {
		return fmt.Errorf("%w: %w", err, rejected)
	}
	return nil
}

// tryPod creates a function pod with additional requests in dry-run mode.
func (i *Installation) tryPod(ctx context.Context, requests corev1.ResourceList) error {
	pod := restrictedPod("quota-trial")
	maps.Copy(pod.Spec.Containers[0].Resources.Requests, requests)
	pod.Spec.Containers[0].Resources.Limits = requests
	_, err := i.Client.CoreV1().Pods(i.Release.FunctionNamespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

// restrictedPod returns a pod that the Pod Security Standard "restricted" admits.
func restrictedPod(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "trial",
			// A resource quota for memory rejects pods without requests.
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}},
			SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: new(false),
				Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				RunAsNonRoot:             new(true),
				SeccompProfile:           &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
		}}},
	}
}
