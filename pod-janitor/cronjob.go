// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// batch is the API group of CronJobs and Jobs. The janitor reads only their metadata.
var batch = schema.GroupVersion{Group: "batch", Version: "v1"}

// suspend suspends a CronJob. Counting the remaining Jobs of the result also deletes them. It returns nil if the CronJob does not exist.
func (j *Janitor) suspend(ctx context.Context, cronJob string) (*stopping, error) {
	namespace, name, _ := strings.Cut(cronJob, "/")
	suspended, err := j.Metadata.Resource(batch.WithResource("cronjobs")).Namespace(namespace).Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"suspend":true}}`), metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		j.Log.InfoContext(ctx, "not found, nothing to stop", "cronjob", cronJob)
		return nil, nil //nolint:nilnil // there is nothing to wait for
	case err != nil:
		return nil, err
	}
	return &stopping{what: "CronJob " + cronJob, flag: "--stop-cronjob", count: func(ctx context.Context) (int, error) { return j.deleteJobs(ctx, suspended) }}, nil
}

// deleteJobs deletes the Jobs of a CronJob, and returns the number of Jobs that existed. A Job exists until its pods are gone.
func (j *Janitor) deleteJobs(ctx context.Context, cronJob *metav1.PartialObjectMetadata) (left int, err error) {
	client := j.Metadata.Resource(batch.WithResource("jobs")).Namespace(cronJob.Namespace)
	jobs, err := client.List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	for i := range jobs.Items {
		job := &jobs.Items[i]
		if !metav1.IsControlledBy(job, cronJob) {
			continue
		}
		left++
		if job.DeletionTimestamp != nil {
			continue
		}
		err := client.Delete(ctx, job.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &job.UID}, PropagationPolicy: new(metav1.DeletePropagationForeground),
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return left, err
		}
	}
	return left, nil
}
