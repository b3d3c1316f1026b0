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
	"github.com/krmfn/krmfn/services/cluster/functionpod"
)

// member is what Kubernetes knows of a pool's pod. The manager's lock guards it.
type member struct {
	*pool.Pod

	workload *workload
	// object is the latest version of the pod. It is not changed, and nil until the API server has the pod.
	object *corev1.Pod
	// requested says that this replica has requested the pod, and does not change.
	requested bool
	// createErr is why the last request to create the pod failed. rejectedSince is since when the API server has answered so; zero if it
	// does not.
	createErr     error
	rejectedSince time.Time
	// seen is when this replica first saw or requested the pod, and addressed when the pod got an address.
	seen, addressed time.Time
	// connection is that to the pod's wrapper server; nil while the pod has no address, and when it is given up.
	connection *connection
	// deleting says that a request to delete a failed pod is on its way.
	deleting bool
	// noted is when this replica last wrote the pod's last use.
	noted time.Time
	// preemption deletes idle pods of other pools for this one; nil if it needs none.
	preemption *preemption
	// endWarmUp lets the next pod warm up; nil for a pod that was created for a call.
	endWarmUp func()
}

// name returns the pod's name.
func (mem *member) name() string { return mem.workload.ID.Of(mem.Ordinal) }

// identity reads a pod's pool and ordinal from its name and from annotations, which only function runners write: admission may
// rewrite its image, and people its labels. A pod whose name is not what the annotations say has another maker.
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

// update records a new version of a pod and returns its member: a new one if the pod has replaced another with its name. It returns nil
// for an old version: the watch may overtake the answer to a request.
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

// remove ends the work for a pod that has gone.
func (w *workload) remove(mem *member) {
	if w.forget(mem) {
		w.Remove(mem.Pod)
	}
}

// forget forgets a pod that the pool forgets, too, and reports whether it was known.
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

// after calls do when the pod has been in its present state for d. The manager's lock is held then, too.
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
