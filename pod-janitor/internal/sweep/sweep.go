// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package sweep decides which objects in the function pods' namespace nobody needs any more. It sends no requests.
package sweep

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Rules determine how long objects are kept. All durations must be positive.
type Rules struct {
	// Grace is the minimum age of objects to delete. It is also the tolerance for delays of function runners and of Kubernetes' garbage
	// collector, and for clock skew.
	Grace time.Duration
	// PodTTL is the time to live of idle function pods without an annotation.
	PodTTL time.Duration
	// WarmerTTL is the maximum age of pods of the image warmer.
	WarmerTTL time.Duration
	// All deletes all objects of krmfn, regardless of age and use.
	All bool
}

// Objects are the objects in the namespace. Services and Secret must have been listed before the pods. Otherwise, a Service of a new
// pod would look orphaned.
type Objects struct {
	// Pods are all pods. Pods of other programs may use the pull secret.
	Pods     []*corev1.Pod
	Services []*corev1.Service
	// Secret is the metadata of the pull secret; nil if it does not exist.
	Secret *metav1.PartialObjectMetadata
}

// Kind is the kind of an object.
type Kind string

// The kinds of objects that Decide handles.
const (
	Pod     Kind = "Pod"
	Service Kind = "Service"
	Secret  Kind = "Secret"
)

// Reason is the reason to delete or report an object.
type Reason string

// The reasons to delete an object.
const (
	// Failed and Finished pods have ended.
	Failed   Reason = "failed"
	Finished Reason = "finished"
	// Expired pods exceed their time to live. Their function runner or image warmer would have deleted them if it were alive.
	Expired Reason = "expired"
	// Superseded pods have a successor with another template or image, which gets the calls.
	Superseded Reason = "superseded"
	// Orphaned Services belong to pods that are gone.
	Orphaned Reason = "orphaned"
	// Unused pull secrets are not renewed by a function runner, and no pod refers to them.
	Unused Reason = "unused"
	// Uninstalled objects are deleted because of Rules.All.
	Uninstalled Reason = "uninstalled"
)

// The reasons to report an object without deleting it.
const (
	// Stuck pods still exist long after their deletion.
	Stuck Reason = "stuck"
	// Uncertain objects have invalid annotations or owners.
	Uncertain Reason = "uncertain"
)

// Decision is the decision on one object. Without a reason, the object is kept and not reported.
type Decision struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// UID and ResourceVersion identify the listed object. If they have changed, the decision is invalid.
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"-"`
	// Image is the image of the function, as in calls; empty if it is unknown.
	Image string `json:"image,omitempty"`
	// Delete means that the object is to be deleted. Otherwise it is only reported.
	Delete bool   `json:"-"`
	Reason Reason `json:"reason"`
	// Detail explains the reason in a few words.
	Detail string `json:"detail,omitempty"`
	// Since is the last known use of the object, in UTC and whole seconds.
	Since time.Time `json:"idleSince"`
}

// Result is the result of Decide.
type Result struct {
	// Decisions are the decisions on objects to delete or report. Pods come first, then Services and the Secret. Objects of one kind are
	// sorted by last use, the oldest first.
	Decisions []Decision
	// Seen counts krmfn's objects by kind.
	Seen map[Kind]int
	// Kept counts the objects that are not to be deleted.
	Kept int
}

// Decide decides on all objects of krmfn. now must be a time before the objects were listed, so that none looks idle for longer than it is.
func Decide(objects Objects, rules Rules, now time.Time) Result {
	s := newSweeper(objects, rules, now)
	result := Result{Seen: map[Kind]int{}}
	add := func(kind Kind, d Decision, object metav1.Object) {
		result.Seen[kind]++
		if !d.Delete {
			result.Kept++
		}
		if d.Reason != "" {
			d.Kind, d.Name, d.UID, d.ResourceVersion = kind, object.GetName(), object.GetUID(), object.GetResourceVersion()
			d.Since = d.Since.UTC().Truncate(time.Second)
			result.Decisions = append(result.Decisions, d)
		}
	}
	for _, pod := range objects.Pods {
		if isFunction(pod) || isWarmer(pod) {
			add(Pod, s.pod(pod), pod)
		}
	}
	for _, service := range objects.Services {
		if isFunction(service) {
			add(Service, s.service(service), service)
		}
	}
	if secret := objects.Secret; secret != nil && isPullSecret(secret) {
		add(Secret, s.secret(secret), secret)
	}
	slices.SortStableFunc(result.Decisions, inOrder)
	return result
}

// inOrder compares decisions by kind, last use and name.
func inOrder(a, b Decision) int {
	order := []Kind{Pod, Service, Secret}
	return cmp.Or(
		cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
		a.Since.Compare(b.Since),
		cmp.Compare(a.Name, b.Name),
	)
}
