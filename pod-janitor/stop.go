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

// creators are pods that create objects and must end before everything is deleted. Someone else deletes them, or their Deployment was scaled
// to 0.
type creators struct {
	// what describes the pods in messages, and flag is the flag that names them.
	what, flag string
	// namespace and selector select the pods.
	namespace, selector string
	// running is the number of pods that have not ended.
	running int
	// required means that nothing may be deleted before all of them have ended.
	required bool
}

// stop scales the Deployments of --stop-deployment to 0. It returns when their pods and those of --await-pods have ended, or at
// --stop-timeout, because pods on a lost node never end. stopped reports whether all have ended; it is false if one of the Deployments does not
// exist. If pods of --await-pods still run, stop returns an error.
func (j *Janitor) stop(ctx context.Context) (stopped bool, err error) {
	left, err := j.begin(ctx)
	if err != nil {
		return false, err
	}
	stopped = len(left) > 0 && len(left) == len(j.Options.StopDeployments)+len(j.Options.AwaitPods)
	err = wait.PollUntilContextTimeout(ctx, stopInterval, j.Options.StopTimeout, true, func(ctx context.Context) (bool, error) {
		for _, c := range left {
			if c.running, err = j.runningPods(ctx, c.namespace, c.selector); err != nil {
				return false, fmt.Errorf("wait for the pods of %s (%s): %w", c.what, c.flag, err)
			}
		}
		left = slices.DeleteFunc(left, func(c *creators) bool { return c.running == 0 })
		return len(left) == 0, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		for _, c := range left {
			if c.required {
				return false, fmt.Errorf("%d of the %s (%s) still run after %v, so nothing was deleted: replace their Deployment, or delete them, and try again",
					c.running, c.what, c.flag, j.Options.StopTimeout)
			}
			j.Log.WarnContext(ctx, "stop timeout reached", "waiting_for", c.what, "left", c.running, "timeout", j.Options.StopTimeout)
		}
		return false, nil
	}
	return stopped && err == nil, err
}

// begin scales down Deployments, and returns the pods to wait for.
func (j *Janitor) begin(ctx context.Context) (all []*creators, err error) {
	for _, deployment := range j.Options.StopDeployments {
		c, err := j.scaleDown(ctx, deployment)
		if err != nil {
			return nil, fmt.Errorf("scale Deployment %s to 0 (--stop-deployment): %w", deployment, err)
		}
		if c != nil {
			all = append(all, c)
		}
	}
	for _, pods := range j.Options.AwaitPods {
		namespace, selector, _ := strings.Cut(pods, "/")
		all = append(all, &creators{what: "pods " + pods, flag: "--await-pods", namespace: namespace, selector: selector, required: true})
	}
	return all, nil
}

// scaleDown scales a Deployment to 0 and returns its pods. It returns nil if the Deployment does not exist.
func (j *Janitor) scaleDown(ctx context.Context, deployment string) (*creators, error) {
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
	return &creators{what: "Deployment " + deployment, flag: "--stop-deployment", namespace: namespace, selector: selector.String()}, nil
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
