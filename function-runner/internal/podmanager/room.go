// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podmanager

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/services/cluster/podstatus"
)

const (
	// roomPause is between two looks for idle pods, where there were not enough. firstLook is before the second look where a quota
	// is exceeded: what others have just made is not known before the watch shows it.
	roomPause = 500 * time.Millisecond
	firstLook = 50 * time.Millisecond
	// roomWait is how long the scheduler may take to use the room that was made. Another pod may have taken it: then more is made,
	// roomPasses times in all.
	roomWait   = 5 * time.Second
	roomPasses = 5
)

// room is what is given up for a pod that finds no place in the cluster: as much as it requests.
type room struct {
	// need is what it requests, and freed what those did that were given up for it in this pass.
	need, freed corev1.ResourceList
	// since is when that was as much, and passes how often it was.
	since  time.Time
	passes int
	// problem is what its callers get when no room can be made, and vain says that they have got it.
	problem error
	vain    bool
}

// unplaced handles a pod that finds no node. The manager's lock is held.
func (p *Pool) unplaced(mem *member, problem *podstatus.Problem) {
	// It keeps no node busy, and the autoscaler of a cluster should see all that need one.
	mem.endTurn()
	err := notStarted(mem.object, problem)
	if len(p.platforms) > 0 && strings.Contains(problem.Message, "affinity") {
		err = fmt.Errorf("%w: image %s is built for %s, which a node must be", err, p.id.Image, strings.Join(p.platforms, ", "))
	}
	if len(p.values.Patches) > 0 && (strings.Contains(problem.Message, "affinity") || strings.Contains(problem.Message, "taint")) {
		err = fmt.Errorf("%w: check nodeSelector, tolerations and affinity in the settings of function pods", err)
	}
	switch {
	case mem.room != nil && !mem.room.vain:
		mem.room.problem = err
	case mem.room != nil || !short(problem.Message):
		p.pool.Problem(mem.slot, err)
	default:
		mem.room = &room{need: requests(mem.object), freed: corev1.ResourceList{}, problem: err}
		p.m.spawn(func() { p.m.place(mem) })
	}
}

// short tells whether the scheduler says that a node lacks what idle pods hold.
func short(message string) bool {
	return strings.Contains(message, "Insufficient ") || strings.Contains(message, "Too many pods")
}

// place makes room for a pod, and has its callers told the scheduler's reason if that is in vain. The room for a pod that another
// replica has made is left to that one, unless calls still wait for it here after a while.
func (m *Manager) place(mem *member) {
	ctx, cancel := context.WithTimeout(m.life, m.config.ReadyTimeout)
	defer cancel()
	if !mem.made {
		sleep(ctx, roomWait)
	}
	for mem.wanted() && m.waits(mem) && ctx.Err() == nil && m.makeRoom(ctx, mem, nil) {
		sleep(ctx, roomPause)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	mem.room.vain = true
	if state, _ := podstatus.Of(mem.object); mem.State == lifecycle.Starting && state == podstatus.Unschedulable {
		mem.pool.pool.Problem(mem.slot, mem.room.problem)
	}
}

// wanted tells whether this replica makes room for a pod.
func (mem *member) wanted() bool { return mem.made || mem.pool.pool.Stats().Waiting > 0 }

// waits tells whether a pod still waits for a node.
func (m *Manager) waits(mem *member) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	state, _ := podstatus.Of(mem.object)
	return mem.State == lifecycle.Starting && state == podstatus.Unschedulable && m.life.Err() == nil
}

// makeRoom gives up idle pods of other pools for a pod, the least recently used first, until they have requested as much as it
// does; none if all together have not. It tells whether there is hope: the pod may still take the room that was made, or other
// pods may fall idle.
func (m *Manager) makeRoom(ctx context.Context, mem *member, need corev1.ResourceList) bool {
	m.mu.Lock()
	if need != nil && mem.object != nil {
		// Another replica has made it in the meantime.
		m.mu.Unlock()
		return false
	}
	if mem.room == nil {
		mem.room = &room{need: need, freed: corev1.ResourceList{}}
	}
	r := mem.room
	if covers(r.freed, r.need) && time.Since(r.since) < roomWait {
		m.mu.Unlock()
		return true
	}
	if covers(r.freed, r.need) {
		// Another has taken it.
		r.freed = corev1.ResourceList{}
	}
	spare, others := m.spare(mem.pool)
	sum := maps.Clone(r.freed)
	for _, idle := range spare {
		add(sum, idle.requests)
	}
	possible := covers(sum, r.need) && r.passes < roomPasses
	m.mu.Unlock()
	if !possible {
		return others > 0 && r.passes < roomPasses
	}
	for _, idle := range spare {
		deleted, err := m.expire(ctx, idle.pool, idle.slot, "room")
		if err != nil || deleted && m.freed(r, idle.requests) {
			return err == nil
		}
	}
	return true
}

// freed notes what was given up for a pod, and tells whether it is as much as the pod requests.
func (m *Manager) freed(r *room, requests corev1.ResourceList) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	add(r.freed, requests)
	if !covers(r.freed, r.need) {
		return false
	}
	r.since = time.Now()
	r.passes++
	return true
}

// idlePod is a pod that may be given up.
type idlePod struct {
	*member
	since    time.Time
	requests corev1.ResourceList
}

// spare returns the idle pods of other pools that may be given up, the least recently used first, and how many calls and pods of
// other pools there are that will end, or fall idle. The manager's lock is held.
func (m *Manager) spare(except *Pool) (spare []idlePod, others int) {
	for _, p := range m.pools {
		if p == except {
			continue
		}
		for _, mem := range p.members {
			if mem.In(lifecycle.Expiring, lifecycle.Leaving) || mem.promising() {
				others++
			}
		}
		others += p.pool.Stats().Running
		for _, idle := range p.pool.Spare(p.lastUses()) {
			if mem := p.members[idle.Slot]; mem != nil && mem.State == lifecycle.Ready {
				spare = append(spare, idlePod{mem, idle.Since, requests(mem.object)})
			}
		}
	}
	slices.SortFunc(spare, func(a, b idlePod) int { return a.since.Compare(b.since) })
	return spare, others
}

// promising tells whether a pod that is not ready yet may be, and fall idle: it does not wait for room itself. The manager's lock is
// held.
func (mem *member) promising() bool {
	switch mem.State {
	case lifecycle.Requested:
		return mem.room == nil
	case lifecycle.Starting:
		state, _ := podstatus.Of(mem.object)
		return state == podstatus.Pending
	}
	return false
}

// requests returns what the containers of a pod request of a node: pods count as a resource, too.
func requests(pod *corev1.Pod) corev1.ResourceList {
	sum := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
	for _, c := range pod.Spec.Containers {
		add(sum, c.Resources.Requests)
	}
	return sum
}

func add(sum, more corev1.ResourceList) {
	for name, quantity := range more {
		total := sum[name]
		total.Add(quantity)
		sum[name] = total
	}
}

func covers(have, need corev1.ResourceList) bool {
	for name, quantity := range need {
		if had := have[name]; had.Cmp(quantity) < 0 {
			return false
		}
	}
	return true
}

// overQuota tells whether a pod was refused because its namespace may have no more.
func overQuota(err error) bool {
	return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota")
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
