// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

// member is the Kubernetes side of a pool's pod. The manager's lock guards it.
type member struct {
	*pool.Pod

	workload *workload
	// object is the latest version of the pod, and is nil until the API server has created the pod. It is immutable.
	object *corev1.Pod
	// requested reports that this replica has requested the pod. It does not change.
	requested bool
	// createErr is the error of the last failed request to create the pod. rejectedSince is when the API server began to reject the pod,
	// or zero if it does not.
	createErr     error
	rejectedSince time.Time
	// seen is when this replica first saw or requested the pod. addressed is when the pod got an address.
	seen, addressed time.Time
	// connection is the connection to the pod's wrapper server. It is nil while the pod has no address, and after the pod has failed.
	connection *connection
	// deleting reports that a request to delete a failed pod is in flight.
	deleting bool
	// noted is when this replica last recorded the pod's last use.
	noted time.Time
	// preemption deletes idle pods of other pools for this pod. It is nil if the pod needs none.
	preemption *preemption
	// endWarmUp releases the pod's warm-up slot. It is nil for a pod that was created for a call.
	endWarmUp func()
}

func (mem *member) name() string { return mem.workload.ID.Of(mem.Ordinal) }

// identity reads the pool and the ordinal of a pod from its name and from annotations that only function runners write, because admission
// may rewrite the image, and users may change the labels. The pod is not ours if its name does not match the annotations.
func identity(pod *corev1.Pod) (id podname.Identity, ordinal int, ours bool) {
	id = podname.Identity{
		Image:    pod.Annotations[functionpod.ReferenceAnnotation],
		Digest:   pod.Annotations[functionpod.DigestAnnotation],
		Template: pod.Annotations[functionpod.TemplateAnnotation],
	}
	ordinal = podname.Ordinal(pod.Name)
	return id, ordinal, ordinal > 0 && id.Digest != "" && id.Of(ordinal) == pod.Name
}

// add adds the member of a pool's pod.
func (w *workload) add(pod *pool.Pod) *member {
	mem := &member{Pod: pod, workload: w, seen: time.Now()}
	w.members[pod.Ordinal] = mem
	return mem
}

// update records a new version of a pod and returns its member, which is new if the pod has replaced another pod of the same name. It
// returns nil for an old version, because the watch may be faster than the response to a request.
func (w *workload) update(ordinal int, object *corev1.Pod) *member {
	mem := w.members[ordinal]
	if mem != nil && mem.object != nil {
		if order, err := resourceversion.CompareResourceVersion(object.ResourceVersion, mem.object.ResourceVersion); err == nil && order < 0 {
			return nil
		}
		if mem.object.UID == object.UID {
			if mem.object.Spec.NodeName != object.Spec.NodeName {
				w.m.scheduled = time.Now()
			}
			mem.object = object
			return mem
		}
		// The pod was deleted and created again between two versions.
		w.remove(mem)
		mem = nil
	}
	if mem == nil {
		mem = w.add(w.Adopt(ordinal))
	}
	// A preemption for the quota has ended. The pod may need another one for a node.
	mem.object, mem.preemption, mem.createErr = object, nil, nil
	w.m.byUID[object.UID] = mem
	w.apply(mem, lifecycle.Created, nil)
	return mem
}

// remove removes a deleted pod from the manager and from its pool.
func (w *workload) remove(mem *member) {
	if w.forget(mem) {
		w.Remove(mem.Pod)
	}
}

// forget removes a pod from the manager, and reports whether the manager knew the pod. The caller must remove it from the pool.
func (w *workload) forget(mem *member) bool {
	if w.members[mem.Ordinal] != mem {
		return false
	}
	mem.disconnect()
	if mem.object != nil {
		delete(w.m.byUID, mem.object.UID)
	}
	delete(w.members, mem.Ordinal)
	return true
}

// after calls do, with the manager's lock held, when the pod has been in its current state for d.
func (mem *member) after(d time.Duration, do func()) {
	_, changed := mem.Status()
	m := mem.workload.m
	m.spawn(func() {
		select {
		case <-changed:
			return
		case <-m.life.Done():
			return
		case <-time.After(d):
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		select {
		case <-changed:
		default:
			do()
		}
	})
}
