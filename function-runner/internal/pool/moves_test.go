// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// Operations of callers.

func (m *machine) arrive(*rapid.T) { m.waiting = append(m.waiting, m.call()) }

func (m *machine) leave(rt *rapid.T) {
	if len(m.waiting) == 0 {
		rt.Skip()
	}
	rapid.SampledFrom(m.waiting).Draw(rt, "waiting").cancel(errors.New("gone"))
	synctest.Wait()
}

func (m *machine) release(rt *rapid.T) {
	from, i := m.drawRunning(rt)
	(*from)[i].lease.Release()
	*from = slices.Delete(*from, i, i+1)
	synctest.Wait()
}

// busy makes a pod send a call back, which then waits at the head of the queue.
func (m *machine) busy(rt *rapid.T) {
	if len(m.running) == 0 {
		rt.Skip()
	}
	i := rapid.IntRange(0, len(m.running)-1).Draw(rt, "running")
	lease := m.running[i].lease
	m.running = slices.Delete(m.running, i, i+1)
	m.saturated[lease.Pod] = true
	m.returned++
	lease.Busy()
	lease.Release()
	synctest.Wait()
	m.answers(rt)
	m.waiting = slices.Insert(m.waiting, 0, m.callBy(m.Reacquire))
}

func (m *machine) report(rt *rapid.T) {
	from, i := m.drawRunning(rt)
	(*from)[i].lease.Report(rapid.IntRange(0, 6).Draw(rt, "load"))
	synctest.Wait()
}

// drawRunning draws a call with a lease.
func (m *machine) drawRunning(rt *rapid.T) (of *[]*call, i int) {
	if len(m.running)+len(m.cutOff) == 0 {
		rt.Skip()
	}
	i = rapid.IntRange(0, len(m.running)+len(m.cutOff)-1).Draw(rt, "running")
	if i < len(m.running) {
		return &m.running, i
	}
	return &m.cutOff, i - len(m.running)
}

// Operations of pods.

// draw draws a pod that is in one of the states.
func (m *machine) draw(rt *rapid.T, states ...lifecycle.State) *pool.Pod {
	var ordinals []int
	for ordinal, p := range m.pods {
		if p.In(states...) {
			ordinals = append(ordinals, ordinal)
		}
	}
	if len(ordinals) == 0 {
		rt.Skip()
	}
	slices.Sort(ordinals)
	return m.pods[rapid.SampledFrom(ordinals).Draw(rt, "pod")]
}

func (m *machine) answer(rt *rapid.T) {
	m.answerOne(m.draw(rt, lifecycle.Requested, lifecycle.Starting, lifecycle.Unreachable))
}

func (m *machine) answerOne(p *pool.Pod) {
	status, _ := p.Status()
	m.failing = m.failing && status.Served
	m.Answered(p, nil)
	synctest.Wait()
}

// event applies any event but Answered to any pod, whether or not its state has a transition for the event.
func (m *machine) event(rt *rapid.T) {
	p := m.draw(rt, lifecycle.States...)
	event := rapid.SampledFrom([]lifecycle.Event{
		lifecycle.Created, lifecycle.Suspected, lifecycle.Lost, lifecycle.Kept, lifecycle.Deleted, lifecycle.Broken,
	}).Draw(rt, "event")
	status, changed := p.Status()
	applied := m.Apply(p, event, errStart)
	if applied != isClosed(changed) {
		rt.Fatalf("Apply(%s) in state %s: the result and the channel of the state differ", event, status.State)
	}
	if applied && p.In(lifecycle.Failed) {
		m.failing = m.failing || !status.Served
	}
	synctest.Wait()
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (m *machine) setProblem(rt *rapid.T) {
	p := m.draw(rt, lifecycle.Requested, lifecycle.Starting)
	if p.Problem() == nil {
		m.SetProblem(p, errStart)
	} else {
		m.SetProblem(p, nil)
	}
	synctest.Wait()
}

func (m *machine) abandonOne(rt *rapid.T) {
	p := m.draw(rt, lifecycle.Requested)
	delete(m.pods, p.Ordinal)
	m.failing = true
	m.Abandon(p, errStart)
	synctest.Wait()
}

// withdraw withdraws a requested pod, and checks that the limits and the waiting calls do not need it.
func (m *machine) withdraw(rt *rapid.T) {
	p := m.draw(rt, lifecycle.Requested)
	before, superseded := m.sizes(), rapid.Bool().Draw(rt, "superseded")
	withdrawn := m.Withdraw(p, superseded)
	if withdrawn {
		delete(m.pods, p.Ordinal)
	}
	synctest.Wait()
	after := m.sizes()
	switch above := before.live() > m.config.MaxPods; {
	case !withdrawn && above:
		rt.Fatalf("pod %d above the maximum was not withdrawn: %+v", p.Ordinal, before)
	case !withdrawn && superseded && before.Waiting == 0:
		rt.Fatalf("pod %d of a superseded pool was not withdrawn without a call", p.Ordinal)
	case withdrawn && !above && before.Waiting > 0:
		rt.Fatalf("pod %d was withdrawn although %d calls wait", p.Ordinal, before.Waiting)
	case withdrawn && !above && !superseded && after.live() < max(m.config.MinPods, 1):
		rt.Fatalf("pod %d of the minimum was withdrawn: %+v", p.Ordinal, after)
	}
}

func (m *machine) die(rt *rapid.T) {
	p := m.draw(rt, lifecycle.States...)
	m.end(p, 5*time.Second)
	m.Remove(p)
	synctest.Wait()
}

func (m *machine) avoidOne(rt *rapid.T) {
	p := m.draw(rt, lifecycle.Requested)
	m.end(p, time.Minute)
	m.Avoid(p, time.Minute)
	synctest.Wait()
}

// end records that a pod was removed, and that its ordinal is blocked for d. Its running calls hold their leases until they fail.
func (m *machine) end(p *pool.Pod, d time.Duration) {
	delete(m.pods, p.Ordinal)
	m.blocked[p.Ordinal] = time.Now().Add(d)
	m.running = slices.DeleteFunc(m.running, func(c *call) bool {
		if c.lease.Pod == p {
			m.cutOff = append(m.cutOff, c)
		}
		return c.lease.Pod == p
	})
}

// adopt adds a pod that another replica has created.
func (m *machine) adopt(rt *rapid.T) {
	ordinal := rapid.IntRange(1, m.config.MaxPods).Draw(rt, "adopted")
	if m.pods[ordinal] != nil {
		rt.Skip()
	}
	m.pods[ordinal] = m.Adopt(ordinal)
	m.Apply(m.pods[ordinal], lifecycle.Created, nil)
}

// Operations of upkeep.

// look calls Idle or Spare and checks the result.
func (m *machine) look(rt *rapid.T) {
	found := m.Idle
	if rapid.Bool().Draw(rt, "spare") {
		found = m.Spare
	}
	m.offered = nil
	for _, i := range found(never) {
		m.offered = append(m.offered, i.Pod)
		if !i.Pod.In(lifecycle.Ready) || m.in(i.Pod) > 0 {
			rt.Fatalf("pod %d was returned as idle in state %s with %d calls", i.Pod.Ordinal, i.Pod.State(), m.in(i.Pod))
		}
	}
	if surplus := m.sizes().live() - m.config.MinPods; len(m.offered) > max(0, surplus) {
		rt.Fatalf("%d idle pods were returned, want at most %d", len(m.offered), surplus)
	}
}

func (m *machine) expireOne(rt *rapid.T) {
	if len(m.offered) == 0 {
		rt.Skip()
	}
	p := rapid.SampledFrom(m.offered).Draw(rt, "offered")
	before := m.sizes()
	if m.Expire(p) && (m.in(p) > 0 || m.pods[p.Ordinal] != p || before.live() <= m.config.MinPods) {
		rt.Fatalf("pod %d expired with %d calls: %+v", p.Ordinal, m.in(p), before)
	}
}

// mayRequest reports whether neither a failure nor the number of pods in all states keeps the pool from requesting pods.
func (m *machine) mayRequest() bool { return !m.failing && len(m.pods) < 2*m.config.MaxPods+2 }

func (m *machine) fill(rt *rapid.T) {
	m.Fill()
	if s := m.Stats(); m.mayRequest() && s.Starting+s.Ready < m.config.MinPods {
		rt.Fatalf("Stats() after Fill() = %+v, want at least %d pods", s, m.config.MinPods)
	}
}

func (m *machine) warm(rt *rapid.T) {
	m.Warm()
	if s := m.Stats(); m.mayRequest() && s.Starting+s.Ready == 0 {
		rt.Fatalf("Stats() after Warm() = %+v, want a pod", s)
	}
}

func (m *machine) limit(rt *rapid.T) {
	c := drawConfig(rt)
	c.MaxWaiting = m.config.MaxWaiting
	m.config = c
	m.SetConfig(c)
	synctest.Wait()
}

func (m *machine) sleep(rt *rapid.T) {
	d := time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second
	time.Sleep(d)
	if d >= 30*time.Second {
		m.saturated = map[*pool.Pod]bool{}
	}
	synctest.Wait()
}
