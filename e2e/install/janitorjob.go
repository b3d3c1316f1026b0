// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RunJanitor runs a Job from the CronJob of the installation's pod janitor with additional flags, like kubectl create job
// --from=cronjob/pod-janitor. It returns whether the Job succeeded, and its log.
func (i *Installation) RunJanitor(ctx context.Context, flags ...string) (succeeded bool, log string, err error) {
	cron, err := i.Client.BatchV1().CronJobs(i.Release.Namespace).Get(ctx, "pod-janitor", metav1.GetOptions{})
	if err != nil {
		return false, "", fmt.Errorf("the pod janitor's CronJob: %w", err)
	}
	spec := cron.Spec.JobTemplate.Spec.DeepCopy()
	container := &spec.Template.Spec.Containers[0]
	container.Args = slices.Concat(container.Args, flags)
	jobs := i.Client.BatchV1().Jobs(i.Release.Namespace)
	job, err := jobs.Create(ctx, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-janitor-e2e-"}, Spec: *spec}, metav1.CreateOptions{})
	if err != nil {
		return false, "", fmt.Errorf("run the pod janitor: %w", err)
	}
	defer func() {
		if failed := jobs.Delete(ctx, job.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationForeground)}); err == nil {
			err = failed
		}
	}()
	err = await(ctx, "the pod janitor has ended", func(ctx context.Context) (bool, error) {
		now, err := jobs.Get(ctx, job.Name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		succeeded = now.Status.Succeeded > 0
		return succeeded || now.Status.Failed > 0, nil
	})
	if err != nil {
		return false, "", err
	}
	pods, err := i.Client.CoreV1().Pods(i.Release.Namespace).List(ctx, metav1.ListOptions{LabelSelector: batchv1.JobNameLabel + "=" + job.Name})
	if err != nil {
		return false, "", err
	}
	var lines strings.Builder
	for _, pod := range pods.Items {
		text, err := i.Client.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err != nil {
			return false, "", fmt.Errorf("log of the pod janitor: %w", err)
		}
		lines.Write(text)
	}
	return succeeded, lines.String(), nil
}
