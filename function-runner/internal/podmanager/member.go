// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/podname"
	"github.com/krmfn/krmfn/services/cluster/functionpod"
)

// member is a function pod as this replica sees it. The manager's lock guards it.
type member struct {
	lifecycle.Pod

	pool *Pool
	slot int
	// object is the latest that is known of the pod, which is not changed; nil until the API server has it.
	object *corev1.Pod
	// made says that this replica has requested it, and does not change. exists is closed when the API server has it, whoever made it.
	made   bool
	exists chan struct{}
	// seen is when this replica first saw it or began to make it, and addressed when it got an address.
	seen, addressed time.Time
	// endpoint is where it was last ready. disconnect ends the goroutine that keeps the connection, once there is one.
	endpoint   *endpoint.Endpoint
	disconnect context.CancelFunc
	// timer ends what the pod may not be for long; turn counts its states, so that a timer of an earlier one does nothing.
	timer *time.Timer
	turn  int
	// keep ends the delete request of an expiring pod that a call has taken back, and deleting says that a failed pod's is on its way.
	keep     context.CancelFunc
	deleting bool
	// warmed lets another pod start in place of this one, which was made for no call; nil for one that was not.
	warmed func()
	// patched is when its last use was last written.
	patched time.Time
	// room is the room that is being made for it in a full cluster; nil for none.
	room *room
}

// name returns the pod's name.
func (mem *member) name() string { return mem.pool.id.Of(mem.slot) }

// identity reads which pool and slot a pod belongs to: from its name and from annotations, which are ours alone. Admission may
// rewrite its image, and people its labels. A pod whose name is not what the annotations say has another maker.
func identity(pod *corev1.Pod) (id podname.Identity, slot int, ours bool) {
	id = podname.Identity{
		Image:    pod.Annotations[functionpod.ReferenceAnnotation],
		Digest:   pod.Annotations[functionpod.DigestAnnotation],
		Template: pod.Annotations[functionpod.TemplateAnnotation],
	}
	slot = podname.Slot(pod.Name)
	return id, slot, slot > 0 && id.Digest != "" && id.Of(slot) == pod.Name
}

// request adds the member of a pod that is about to be made. The manager's lock is held.
func (p *Pool) request(slot int) *member {
	mem := &member{Pod: lifecycle.Pod{State: lifecycle.Requested, Since: time.Now()}, pool: p, slot: slot, seen: time.Now(), exists: make(chan struct{})}
	p.members[slot] = mem
	return mem
}

// update records the news of a pod and returns its member, a new one if the pod is another than the one that was in its slot
// before. It returns nil for old news: the watch may overtake the answer to a request. The manager's lock is held.
func (p *Pool) update(slot int, pod *corev1.Pod) *member {
	mem := p.members[slot]
	if mem != nil && mem.object != nil {
		if order, err := resourceversion.CompareResourceVersion(pod.ResourceVersion, mem.object.ResourceVersion); err == nil && order < 0 {
			return nil
		}
		if mem.object.UID == pod.UID {
			mem.object = pod
			return mem
		}
		// It went and came again between two looks.
		p.forget(mem)
		mem = nil
	}
	if mem == nil {
		mem = p.request(slot)
	}
	// The room that a quota needed is there; a node may need more.
	mem.object, mem.room = pod, nil
	p.m.byUID[pod.UID] = mem
	close(mem.exists)
	p.apply(mem, lifecycle.Created, nil)
	return mem
}

// forget ends the work for a pod that has gone. The manager's lock is held.
func (p *Pool) forget(mem *member) {
	if p.members[mem.slot] != mem {
		return
	}
	mem.stop()
	if mem.disconnect != nil {
		mem.disconnect()
	}
	if mem.object != nil {
		delete(p.m.byUID, mem.object.UID)
	}
	p.remove(mem)
	p.pool.Gone(mem.slot)
}

// remove takes a member out of its slot. The manager's lock is held.
func (p *Pool) remove(mem *member) {
	delete(p.members, mem.slot)
	mem.settle()
}

// stop ends what was begun for the pod's state.
func (mem *member) stop() {
	mem.settle()
	mem.turn++
	if mem.timer != nil {
		mem.timer.Stop()
	}
	if mem.keep != nil && mem.State == lifecycle.Ready {
		mem.keep()
	}
	mem.keep = nil
}

// after does something when the pod has been in its state for a time. The manager's lock is held, then too.
func (mem *member) after(d time.Duration, do func()) {
	m, turn := mem.pool.m, mem.turn
	if mem.timer != nil {
		mem.timer.Stop()
	}
	mem.timer = time.AfterFunc(d, func() {
		m.spawn(func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			if mem.turn == turn {
				do()
			}
		})
	})
}

var errUnready = errors.New("the kubelet holds it for unready")
