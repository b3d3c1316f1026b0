// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/function-runner/internal/podtemplate"
	"github.com/krmfn/krmfn/services/cluster/functionpod"
	"github.com/krmfn/krmfn/services/images/reference"
)

// member is a function pod as this replica sees it.
type member struct {
	slot int
	// pod is the latest that is known of it; it is not changed.
	pod *corev1.Pod
	// ready says that its wrapper server answers, and served that it ever did.
	ready, served bool
	// leaving pods get no calls any more.
	leaving bool
	// undeleted is why it must be deleted, after an attempt has failed.
	undeleted string
	// lost is when the wrapper server stopped answering.
	lost time.Time
	// seen is when this replica first saw it, and addressed when it got an address.
	seen, addressed time.Time
	// disconnect ends the goroutine that keeps the connection, once there is one; probe has it ask whether a ready pod
	// still serves.
	disconnect, probe context.CancelFunc
	// deadline ends the wait for it to get ready.
	deadline *time.Timer
	// patched is when its last use was last written.
	patched time.Time
}

// identity reads from a pod's labels and annotations which pool and slot it belongs to. A pod that has none of ours, or whose
// name is not what they say, has another maker.
func identity(pod *corev1.Pod) (id podname.Identity, slot int, ours bool) {
	container := podtemplate.FunctionOf(pod)
	if container == nil {
		return id, 0, false
	}
	_, _, digest := reference.Split(container.Image)
	id = podname.Identity{
		Image: pod.Annotations[functionpod.ReferenceAnnotation], Digest: digest, Template: pod.Annotations[functionpod.TemplateAnnotation],
	}
	slot, err := strconv.Atoi(pod.Labels[functionpod.SlotLabel])
	ours = err == nil && slot > 0 && id.Hash() == pod.Labels[functionpod.PoolLabel] && id.Of(slot) == pod.Name
	return id, slot, ours
}

// updateMember records the news of a pod and returns its member, a new one if the pod is another than the one that was in its
// slot before. It returns nil for old news: the watch may overtake the answer to a request.
func (p *Pool) updateMember(slot int, pod *corev1.Pod) (mem *member, isNew bool) {
	if mem := p.members[slot]; mem != nil {
		if order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, mem.pod.ResourceVersion); err == nil && order < 0 {
			return nil, false
		}
		if mem.pod.UID == pod.UID {
			mem.pod = pod
			return mem, false
		}
		// It went and came again between two looks.
		p.forget(mem)
	}
	mem = &member{slot: slot, pod: pod, seen: time.Now()}
	p.members[slot] = mem
	mem.deadline = time.AfterFunc(p.m.config.ReadyTimeout, func() { p.m.spawn(func() { p.m.startTimedOut(p, mem) }) })
	return mem, true
}

// forget ends the work for a pod that has gone.
func (p *Pool) forget(mem *member) {
	mem.deadline.Stop()
	if mem.disconnect != nil {
		mem.disconnect()
	}
	mem.ready, mem.leaving = false, true
	delete(p.members, mem.slot)
	p.pool.Gone(mem.slot)
}

// leave stops sending calls to a pod.
func (p *Pool) leave(mem *member) {
	if !mem.leaving {
		mem.leaving = true
		mem.deadline.Stop()
		p.pool.Leaving(mem.slot)
	}
}
