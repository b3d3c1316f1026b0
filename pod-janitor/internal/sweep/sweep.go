// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package sweep decides which objects in the namespace of the function pods nobody needs any more. It only looks at what it is
// given, and asks and changes nothing.
package sweep

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Rules are how long objects are left alone. All must be more than 0.
type Rules struct {
	// Grace is how long every object is left alone for certain, and how long what keeps it may be late: a function runner, the
	// garbage collector of Kubernetes, a clock.
	Grace time.Duration
	// PodTTL is how long function pods may be idle that do not say so themselves.
	PodTTL time.Duration
	// WarmerTTL is how long pods of the image warmer may take.
	WarmerTTL time.Duration
	// All is whether everything of ours goes, however old and whoever uses it, because it is being uninstalled.
	All bool
}

// Objects are what there is in the namespace. Services and Secret must have been looked up before the pods, or those of pods
// that were made in between would be taken for forgotten.
type Objects struct {
	// Pods are all pods, also those that are nobody's business here: they may use what is ours.
	Pods     []*corev1.Pod
	Services []*corev1.Service
	// Secret is the pull secret, without its content; nil where there is none.
	Secret *metav1.PartialObjectMetadata
}

// Kind is that of an object.
type Kind string

// The kinds of objects that are decided on.
const (
	Pod     Kind = "Pod"
	Service Kind = "Service"
	Secret  Kind = "Secret"
)

// Reason is why an object is deleted, or told of.
type Reason string

// The reasons to delete an object.
const (
	// Failed and Finished pods run no more.
	Failed   Reason = "failed"
	Finished Reason = "finished"
	// Expired pods have been idle, or pulling an image, for longer than whoever made them would let them, were it there.
	Expired Reason = "expired"
	// Superseded pods have a successor of another template or another image, which gets the calls.
	Superseded Reason = "superseded"
	// Orphaned Services are those of pods that are gone.
	Orphaned Reason = "orphaned"
	// Unused is the pull secret that no function runner renews and no pod names.
	Unused Reason = "unused"
	// Uninstalled is everything, with Rules.All.
	Uninstalled Reason = "uninstalled"
)

// The reasons to tell of an object, which is left.
const (
	// Stuck pods do not end though they were deleted long ago.
	Stuck Reason = "stuck"
	// Uncertain objects say something of themselves that is not understood.
	Uncertain Reason = "uncertain"
)

// Decision is what becomes of one object: nothing where the reason is empty.
type Decision struct {
	Kind Kind   `json:"kind"`
	Name string `json:"name"`
	// UID and ResourceVersion are the object's as it was looked at: one that has changed since is another case.
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"-"`
	// Image is the function's, as it was asked for; empty where the object does not say.
	Image string `json:"image,omitempty"`
	// Delete is whether the object goes; else it is only told of.
	Delete bool   `json:"-"`
	Reason Reason `json:"reason"`
	// Detail says more of the reason, in a few words.
	Detail string `json:"detail,omitempty"`
	// Since is since when nobody has used the object, as far as that is known, in UTC and whole seconds.
	Since time.Time `json:"idleSince"`
}

// Result is what a sweep has decided.
type Result struct {
	// Decisions are on what goes and on what is to be told of. Pods come first, then Services and the Secret; of each kind
	// what nobody has used for longest.
	Decisions []Decision
	// Seen is how many objects of ours there are of each kind.
	Seen map[Kind]int
	// Kept is how many of them do not go.
	Kept int
}

// Decide decides on all objects that are ours. now must be from before they were listed, so that none looks idle for longer
// than it is.
func Decide(objects Objects, rules Rules, now time.Time) Result {
	s := newSweeper(objects, rules, now)
	result := Result{Seen: map[Kind]int{}}
	note := func(kind Kind, d Decision, object metav1.Object) {
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
			note(Pod, s.pod(pod), pod)
		}
	}
	for _, service := range objects.Services {
		if isFunction(service) {
			note(Service, s.service(service), service)
		}
	}
	if secret := objects.Secret; secret != nil && isPullSecret(secret) {
		note(Secret, s.secret(secret), secret)
	}
	slices.SortStableFunc(result.Decisions, inOrder)
	return result
}

func inOrder(a, b Decision) int {
	order := []Kind{Pod, Service, Secret}
	return cmp.Or(
		cmp.Compare(slices.Index(order, a.Kind), slices.Index(order, b.Kind)),
		a.Since.Compare(b.Since),
		cmp.Compare(a.Name, b.Name),
	)
}
