// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"errors"
	"slices"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// What callers do.

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
	(*from)[i].place.Release()
	*from = slices.Delete(*from, i, i+1)
	synctest.Wait()
}

func (m *machine) report(rt *rapid.T) {
	from, i := m.drawRunning(rt)
	(*from)[i].place.Report(rapid.IntRange(0, 6).Draw(rt, "load"))
	synctest.Wait()
}

// drawRunning draws a call that has a place.
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

// What becomes of pods.

// draw draws a pod of which something is true.
func (m *machine) draw(rt *rapid.T, is func(p *modelPod) bool) (int, *modelPod) {
	var slots []int
	for slot, p := range m.pods {
		if is(p) {
			slots = append(slots, slot)
		}
	}
	if len(slots) == 0 {
		rt.Skip()
	}
	slices.Sort(slots)
	slot := rapid.SampledFrom(slots).Draw(rt, "slot")
	return slot, m.pods[slot]
}

func in(states ...string) func(p *modelPod) bool {
	return func(p *modelPod) bool { return slices.Contains(states, p.state) }
}

// become notes the new state of a pod.
func (p *modelPod) become(state string) { p.state, p.troubled, p.recalled = state, false, false }

func (m *machine) becomeReady(rt *rapid.T) {
	m.becomes(m.draw(rt, in("starting", "ready", "unreachable")))
}

func (m *machine) becomes(slot int, p *modelPod) {
	p.become("ready")
	m.failing = m.failing && p.served
	p.served = true
	m.ready(slot)
}

func (m *machine) unreachable(rt *rapid.T) {
	slot, p := m.draw(rt, in("starting", "ready", "givenUp"))
	p.become("unreachable")
	m.Unreachable(slot)
	synctest.Wait()
}

// doubt has a pod show anew that it is ready.
func (m *machine) doubt(rt *rapid.T) {
	slot, p := m.draw(rt, in("ready"))
	p.become("starting")
	m.Starting(slot)
}

func (m *machine) problem(rt *rapid.T) {
	slot, p := m.draw(rt, in("starting"))
	var err error
	if p.troubled = !p.troubled; p.troubled {
		err = errStart
	}
	m.Problem(slot, err)
	synctest.Wait()
}

func (m *machine) notMade(rt *rapid.T) {
	slot, _ := m.draw(rt, func(p *modelPod) bool { return p.state == "starting" && !p.served })
	delete(m.pods, slot)
	m.failing = true
	m.NotMade(slot, errStart)
	synctest.Wait()
}

// withdraw gives up a pod that is not made yet. The maximum, the minimum, and the calls that wait, have what they need without it.
func (m *machine) withdraw(rt *rapid.T) {
	slot, p := m.draw(rt, func(p *modelPod) bool { return p.state == "starting" && !p.served && !p.recalled })
	before, retired := m.sizes(), rapid.Bool().Draw(rt, "retired")
	withdrawn := m.Withdraw(slot, retired)
	if withdrawn {
		delete(m.pods, slot)
	}
	synctest.Wait()
	after := m.sizes()
	switch above := before.live() > m.config.MaxPods; {
	case !withdrawn && above:
		rt.Fatalf("slot %d keeps its pod above the maximum: %+v", slot, before)
	case !withdrawn && retired && before.Waiting == 0:
		rt.Fatalf("slot %d of a retired pool keeps its pod for no call", slot)
	case withdrawn && !above && before.Waiting > 0:
		rt.Fatalf("slot %d gives up the pod that %d calls wait for: %+v", slot, before.Waiting, *p)
	case withdrawn && !above && !retired && after.live() < max(m.config.MinPods, 1):
		rt.Fatalf("slot %d gives up a pod of the minimum: %+v", slot, after)
	}
}

func (m *machine) fail(rt *rapid.T) {
	slot, p := m.draw(rt, in("starting", "ready", "unreachable"))
	p.become("leaving")
	m.failing = m.failing || !p.served
	m.Failed(slot, errStart)
	synctest.Wait()
}

func (m *machine) terminate(rt *rapid.T) {
	slot, p := m.draw(rt, in("starting", "ready", "unreachable", "givenUp", "leaving"))
	p.become("leaving")
	m.Leaving(slot)
	synctest.Wait()
}

func (m *machine) die(rt *rapid.T) {
	slot, _ := m.draw(rt, func(*modelPod) bool { return true })
	m.end(slot, 5*time.Second)
	m.Gone(slot)
	synctest.Wait()
}

func (m *machine) avoid(rt *rapid.T) {
	slot, _ := m.draw(rt, in("starting"))
	m.end(slot, time.Minute)
	m.Avoid(slot, time.Minute)
	synctest.Wait()
}

// end notes that there is no pod in a slot, nor will be for d. The calls that it runs hold their places until they find out.
func (m *machine) end(slot int, d time.Duration) {
	delete(m.pods, slot)
	m.blocked[slot] = time.Now().Add(d)
	m.running = slices.DeleteFunc(m.running, func(c *call) bool {
		if c.place.Slot == slot {
			m.cutOff = append(m.cutOff, c)
		}
		return c.place.Slot == slot
	})
}

// adopt tells of a pod that another replica has made.
func (m *machine) adopt(rt *rapid.T) {
	slot := rapid.IntRange(1, m.config.MaxPods).Draw(rt, "adopted")
	if m.pods[slot] != nil {
		rt.Skip()
	}
	m.pods[slot] = &modelPod{state: "starting"}
	m.Starting(slot)
}

// What upkeep does.

// look names what is idle.
func (m *machine) look(rt *rapid.T) {
	found := m.Idle
	if rapid.Bool().Draw(rt, "spare") {
		found = m.Spare
	}
	m.named = idle(found(never))
	for _, slot := range m.named {
		if m.pods[slot].state != "ready" || m.in(slot) > 0 {
			rt.Fatalf("slot %d is idle: %+v, calls run in %v", slot, m.pods[slot], slots(m.running...))
		}
	}
	if surplus := m.sizes().live() - m.config.MinPods; len(m.named) > max(0, surplus) {
		rt.Fatalf("slots %v are idle, and %d too many", m.named, surplus)
	}
}

func (m *machine) giveUp(rt *rapid.T) {
	if len(m.named) == 0 {
		rt.Skip()
	}
	slot := rapid.SampledFrom(m.named).Draw(rt, "named")
	if !m.GiveUp(slot) {
		return
	}
	p := m.pods[slot]
	if p == nil || p.state != "ready" || m.in(slot) > 0 || m.sizes().live() <= m.config.MinPods {
		rt.Fatalf("slot %d is given up: %+v", slot, p)
	}
	p.become("givenUp")
}

func (m *machine) keep(rt *rapid.T) {
	slot, p := m.draw(rt, func(p *modelPod) bool { return p.state == "givenUp" || p.recalled })
	p.become("ready")
	m.Keep(slot)
	synctest.Wait()
}

func (m *machine) fill(rt *rapid.T) {
	m.Fill()
	if s := m.Stats(); !m.failing && s.Starting+s.Ready < m.config.MinPods {
		rt.Fatalf("filled to %+v, want at least %d", s, m.config.MinPods)
	}
}

func (m *machine) warm(rt *rapid.T) {
	m.Warm()
	if s := m.Stats(); !m.failing && s.Starting+s.Ready == 0 {
		rt.Fatalf("warmed to %+v", s)
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
	time.Sleep(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second)
}
