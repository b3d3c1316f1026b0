// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// deployment is the name of the function runner's Deployment.
const deployment = "function-runner"

// Scale sets the number of function runners, and waits until they are ready.
func (i *Installation) Scale(ctx context.Context, replicas int32) error {
	what := fmt.Sprintf("scale to %d function runners", replicas)
	return i.step(what, func() error {
		_, err := i.Client.AppsV1().Deployments(i.Release.Namespace).UpdateScale(ctx, deployment, &autoscalingv1.Scale{
			ObjectMeta: metav1.ObjectMeta{Name: deployment, Namespace: i.Release.Namespace},
			Spec:       autoscalingv1.ScaleSpec{Replicas: replicas},
		}, metav1.UpdateOptions{})
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		return i.AwaitSettled(ctx)
	})
}

// Restart replaces all function runners, like kubectl rollout restart, and waits until the last old one is gone.
func (i *Installation) Restart(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":%q}}}}}`,
		time.Now().Format(time.RFC3339Nano))
	return i.step("restart the function runners", func() error {
		_, err := i.Client.AppsV1().Deployments(i.Release.Namespace).Patch(ctx, deployment, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		if err != nil {
			return fmt.Errorf("restart the function runners: %w", err)
		}
		return i.AwaitSettled(ctx)
	})
}

// Kill deletes a pod without a grace period.
func (i *Installation) Kill(ctx context.Context, namespace, pod string) error {
	return i.Client.CoreV1().Pods(namespace).Delete(ctx, pod, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
}

// Runners lists the pods of the function runners.
func (i *Installation) Runners(ctx context.Context) ([]corev1.Pod, error) {
	list, err := i.Client.CoreV1().Pods(i.Release.Namespace).List(ctx, metav1.ListOptions{LabelSelector: labels.FormatLabels(runnerSelector)})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// AwaitReplaced waits until a killed pod is gone, or its first container has been restarted and is ready. Until the kubelet notices the
// kill, the cluster considers the dead container ready and sends connections to it.
func (i *Installation) AwaitReplaced(ctx context.Context, killed *corev1.Pod) error {
	return await(ctx, "the cluster has replaced what was killed in pod "+killed.Name, func(ctx context.Context) (bool, error) {
		pod, err := i.Client.CoreV1().Pods(killed.Namespace).Get(ctx, killed.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		if err != nil || len(pod.Status.ContainerStatuses) == 0 {
			return false, err
		}
		now := pod.Status.ContainerStatuses[0]
		return pod.UID != killed.UID || now.Ready && now.ContainerID != killed.Status.ContainerStatuses[0].ContainerID, nil
	})
}

// awaitNoRunners waits until the last function runner has ended, which is later than the deletion of its Deployment.
func (i *Installation) awaitNoRunners(ctx context.Context) error {
	return await(ctx, "the last function runner has ended", func(ctx context.Context) (bool, error) {
		left, err := i.Runners(ctx)
		return len(left) == 0, err
	})
}

// AwaitSettled waits until the desired number of function runners exists, all ready and of the newest version. It also waits for
// terminating pods, which would take part in the test.
func (i *Installation) AwaitSettled(ctx context.Context) error {
	var state string
	err := await(ctx, "the function runners are ready", func(ctx context.Context) (bool, error) {
		wanted, err := i.Client.AppsV1().Deployments(i.Release.Namespace).Get(ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		pods, err := i.Runners(ctx)
		if err != nil {
			return false, err
		}
		state = fmt.Sprintf("%d of %d function runners are ready, %d are of the newest version, %d pods exist",
			wanted.Status.ReadyReplicas, *wanted.Spec.Replicas, wanted.Status.UpdatedReplicas, len(pods))
		return settled(wanted, len(pods)), nil
	})
	if err != nil {
		return fmt.Errorf("%w: %s", err, state)
	}
	return nil
}

// awaitRolledOut waits like kubectl rollout status: terminating pods do not count.
func (i *Installation) awaitRolledOut(ctx context.Context) error {
	return await(ctx, "the function runners are rolled out", func(ctx context.Context) (bool, error) {
		wanted, err := i.Client.AppsV1().Deployments(i.Release.Namespace).Get(ctx, deployment, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		return settled(wanted, int(*wanted.Spec.Replicas)), nil
	})
}

func settled(d *appsv1.Deployment, pods int) bool {
	replicas := *d.Spec.Replicas
	return d.Status.ObservedGeneration >= d.Generation && d.Status.ReadyReplicas == replicas &&
		d.Status.UpdatedReplicas == replicas && d.Status.Replicas == replicas && pods == int(replicas)
}

// await waits until done returns true. The error names the condition. await retries after errors of done, which can be temporary, for
// example during a restart of the API server, and returns the last one after the timeout.
func await(ctx context.Context, what string, done wait.ConditionWithContextFunc) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, settleTimeout, true, func(ctx context.Context) (ok bool, _ error) {
		ok, last = done(ctx)
		return ok && last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s: %w", what, errors.Join(err, last))
	}
	return nil
}
