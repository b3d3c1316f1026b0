// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// stopInterval is the interval at which the remaining pods are counted.
const stopInterval = 100 * time.Millisecond

// stopping is a Deployment that was scaled to 0, a CronJob that was suspended, or a set of pods that someone else deletes.
type stopping struct {
	// what describes it in messages, and flag is the flag that names it.
	what, flag string
	// count returns the number of pods or Jobs that have not ended.
	count func(ctx context.Context) (running int, err error)
	// running is the last result of count.
	running int
	// required means that nothing may be deleted before all of them have ended.
	required bool
}

// stop stops the Deployments of --stop-deployment and the CronJobs of --stop-cronjob, and returns when none of their pods and none of
// --await-pods runs, or --stop-timeout is over: pods on a lost node never end. stopped reports whether all have ended; it is false if one of
// the Deployments or CronJobs does not exist. If pods of --await-pods still run, stop returns an error.
func (j *Janitor) stop(ctx context.Context) (stopped bool, err error) {
	left, err := j.begin(ctx)
	if err != nil {
		return false, err
	}
	stopped = len(left) > 0 && len(left) == len(j.Options.StopDeployments)+len(j.Options.StopCronJobs)+len(j.Options.AwaitPods)
	err = wait.PollUntilContextTimeout(ctx, stopInterval, j.Options.StopTimeout, true, func(ctx context.Context) (bool, error) {
		for _, s := range left {
			if s.running, err = s.count(ctx); err != nil {
				return false, fmt.Errorf("wait for the pods of %s (%s): %w", s.what, s.flag, err)
			}
		}
		left = slices.DeleteFunc(left, func(s *stopping) bool { return s.running == 0 })
		return len(left) == 0, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		for _, s := range left {
			if s.required {
				return false, fmt.Errorf("%d of the %s (%s) still run after %v, so nothing was deleted: replace their Deployment, or delete them, and try again",
					s.running, s.what, s.flag, j.Options.StopTimeout)
			}
			j.Log.WarnContext(ctx, "stop timeout reached", "waiting_for", s.what, "left", s.running, "timeout", j.Options.StopTimeout)
		}
		return false, nil
	}
	return stopped && err == nil, err
}

// begin suspends CronJobs and scales down Deployments, and returns those that exist, and the pods to wait for.
func (j *Janitor) begin(ctx context.Context) (all []*stopping, err error) {
	for _, cronJob := range j.Options.StopCronJobs {
		s, err := j.suspend(ctx, cronJob)
		if err != nil {
			return nil, fmt.Errorf("suspend CronJob %s (--stop-cronjob): %w", cronJob, err)
		}
		all = append(all, s)
	}
	for _, deployment := range j.Options.StopDeployments {
		s, err := j.scaleDown(ctx, deployment)
		if err != nil {
			return nil, fmt.Errorf("scale Deployment %s to 0 (--stop-deployment): %w", deployment, err)
		}
		all = append(all, s)
	}
	for _, pods := range j.Options.AwaitPods {
		namespace, selector, _ := strings.Cut(pods, "/")
		all = append(all, &stopping{what: "pods " + pods, flag: "--await-pods", required: true, count: func(ctx context.Context) (int, error) {
			return j.runningPods(ctx, namespace, selector)
		}})
	}
	return slices.DeleteFunc(all, func(s *stopping) bool { return s == nil }), nil
}

// scaleDown scales a Deployment to 0. It returns nil if the Deployment does not exist.
func (j *Janitor) scaleDown(ctx context.Context, deployment string) (*stopping, error) {
	namespace, name, _ := strings.Cut(deployment, "/")
	deployments := j.Client.Deployments(namespace)
	found, err := deployments.Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		_, err = deployments.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"replicas":0}}`), metav1.PatchOptions{}, "scale")
	}
	switch {
	case apierrors.IsNotFound(err):
		j.Log.InfoContext(ctx, "not found, nothing to stop", "deployment", deployment)
		return nil, nil //nolint:nilnil // there is nothing to wait for
	case err != nil:
		return nil, err
	}
	selector, err := metav1.LabelSelectorAsSelector(found.Spec.Selector)
	if err != nil {
		return nil, err
	}
	return &stopping{what: "Deployment " + deployment, flag: "--stop-deployment", count: func(ctx context.Context) (int, error) {
		return j.runningPods(ctx, namespace, selector.String())
	}}, nil
}

// runningPods counts the pods that have not ended. Pods in a terminal phase do not count: the kubelet may take long to remove them, and
// nobody removes evicted pods.
func (j *Janitor) runningPods(ctx context.Context, namespace, selector string) (running int, err error) {
	pods, err := j.Client.Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return 0, err
	}
	for i := range pods.Items {
		if phase := pods.Items[i].Status.Phase; phase != corev1.PodSucceeded && phase != corev1.PodFailed {
			running++
		}
	}
	return running, nil
}
