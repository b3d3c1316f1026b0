// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// machine is a pool and what must be true of it, whatever happens in whichever order.
type machine struct {
	*harness
	config pool.Config
	// pods has what the test has told the pool of each slot.
	pods map[int]string
	// troubled are the starting ones that may never become ready.
	troubled map[int]bool
	// waiting are the calls without an answer, in order; running are those with a place; cutOff those whose pod has gone.
	waiting, running, cutOff []*call
}

// bubble is a test whose deadline rapid does not ask for: there is none in a bubble.
type bubble struct{ testing.TB }

var errStart = errors.New("no such image")

// TestMachine does at random what callers, pods and other replicas do.
func TestMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubble{t}, func(rt *rapid.T) {
			c := pool.Config{
				MaxPods: rapid.IntRange(1, 4).Draw(rt, "pods"), Waitlist: rapid.IntRange(1, 3).Draw(rt, "waitlist"),
				PerPod: rapid.IntRange(1, 4).Draw(rt, "perPod"), MaxWaiting: rapid.IntRange(1, 6).Draw(rt, "maxWaiting"), TTL: time.Minute,
			}
			c.MinPods = rapid.IntRange(0, c.MaxPods).Draw(rt, "minPods")
			m := &machine{harness: newHarness(t, c), config: c, pods: map[int]string{}, troubled: map[int]bool{}}
			rt.Repeat(map[string]func(*rapid.T){
				"call": m.arrive, "cancel": m.leave, "release": m.release, "ready": m.becomeReady,
				"notMade": m.notMade, "fail": m.fail, "problem": m.problem,
				"die": m.die, "terminate": m.terminate, "give up": m.giveUp, "adopt": m.adopt, "doubt": m.doubt, "": m.check,
			})
			m.finish(rt)
		})
	})
}

func (m *machine) arrive(*rapid.T) { m.waiting = append(m.waiting, m.call()) }

func (m *machine) leave(rt *rapid.T) {
	if len(m.waiting) == 0 {
		rt.Skip()
	}
	rapid.SampledFrom(m.waiting).Draw(rt, "waiting").cancel(errors.New("gone"))
	synctest.Wait()
}

func (m *machine) release(rt *rapid.T) {
	if len(m.running)+len(m.cutOff) == 0 {
		rt.Skip()
	}
	i := rapid.IntRange(0, len(m.running)+len(m.cutOff)-1).Draw(rt, "running")
	from := &m.running
	if i >= len(m.running) {
		from, i = &m.cutOff, i-len(m.running)
	}
	(*from)[i].place.Release()
	*from = slices.Delete(*from, i, i+1)
	synctest.Wait()
}

// gone ends a pod, and with it the calls that it runs: they hold their places until they find out.
func (m *machine) gone(slot int) {
	delete(m.pods, slot)
	delete(m.troubled, slot)
	m.running = slices.DeleteFunc(m.running, func(c *call) bool {
		if c.place.Slot == slot {
			m.cutOff = append(m.cutOff, c)
		}
		return c.place.Slot == slot
	})
	m.Gone(slot)
	synctest.Wait()
}

// slot draws the slot of a pod in a state.
func (m *machine) slot(rt *rapid.T, states ...string) int {
	var slots []int
	for slot, state := range m.pods {
		if slices.Contains(states, state) {
			slots = append(slots, slot)
		}
	}
	if len(slots) == 0 {
		rt.Skip()
	}
	slices.Sort(slots)
	return rapid.SampledFrom(slots).Draw(rt, "slot")
}

func (m *machine) becomeReady(rt *rapid.T) {
	slot := m.slot(rt, "starting", "ready")
	m.pods[slot] = "ready"
	delete(m.troubled, slot)
	m.ready(slot)
}

func (m *machine) notMade(rt *rapid.T) {
	slot := m.slot(rt, "starting")
	delete(m.pods, slot)
	delete(m.troubled, slot)
	m.NotMade(slot, errStart)
	synctest.Wait()
}

func (m *machine) fail(rt *rapid.T) {
	slot := m.slot(rt, "starting")
	m.pods[slot] = "leaving"
	delete(m.troubled, slot)
	m.Failed(slot, errStart)
	synctest.Wait()
}

func (m *machine) problem(rt *rapid.T) {
	slot := m.slot(rt, "starting")
	var err error
	if m.troubled[slot] = !m.troubled[slot]; m.troubled[slot] {
		err = errStart
	}
	m.Problem(slot, err)
	synctest.Wait()
}

func (m *machine) die(rt *rapid.T) { m.gone(m.slot(rt, "ready", "leaving", "starting")) }

// doubt has a pod show anew that it is ready.
func (m *machine) doubt(rt *rapid.T) {
	slot := m.slot(rt, "ready")
	m.pods[slot] = "starting"
	m.Starting(slot)
}

func (m *machine) terminate(rt *rapid.T) {
	slot := m.slot(rt, "ready", "starting")
	m.pods[slot] = "leaving"
	delete(m.troubled, slot)
	m.Leaving(slot)
	synctest.Wait()
}

// giveUp gives up what is idle.
func (m *machine) giveUp(rt *rapid.T) {
	time.Sleep(time.Duration(rapid.IntRange(0, 90).Draw(rt, "seconds")) * time.Second)
	for _, slot := range idle(m.Idle(never)) {
		if m.pods[slot] != "ready" || slices.ContainsFunc(m.running, func(c *call) bool { return c.place.Slot == slot }) {
			rt.Fatalf("slot %d is idle: it is %s, calls run in %v", slot, m.pods[slot], slots(m.running...))
		}
		if m.GiveUp(slot) {
			m.pods[slot] = "leaving"
			m.Leaving(slot)
		}
	}
}

// adopt tells of a pod that another replica has made.
func (m *machine) adopt(rt *rapid.T) {
	slot := rapid.IntRange(1, m.config.MaxPods).Draw(rt, "adopted")
	if m.pods[slot] != "" {
		rt.Skip()
	}
	m.pods[slot] = "starting"
	m.Starting(slot)
}

// check sorts out what has happened, and holds it against the rules.
func (m *machine) check(rt *rapid.T) {
	m.take(rt)
	stats := m.Stats()
	live, free, hopeful := 0, 0, 0
	for slot, state := range m.pods {
		if state != "leaving" {
			live++
			if !m.troubled[slot] {
				hopeful++
			}
		}
		in := 0
		for _, c := range m.running {
			if c.place.Slot == slot {
				in++
			}
		}
		if state == "ready" && in < m.config.PerPod {
			free++
		}
	}
	switch {
	case stats.Starting+stats.Ready != live:
		rt.Fatalf("%d pods count, the pool says %+v", live, stats)
	case stats.Waiting != len(m.waiting):
		rt.Fatalf("%d calls wait, the pool says %+v", len(m.waiting), stats)
	case len(m.waiting) > m.config.MaxWaiting:
		rt.Fatalf("%d calls wait, of %d at most", len(m.waiting), m.config.MaxWaiting)
	case len(m.waiting) > 0 && free > 0:
		rt.Fatalf("%d calls wait while %d pods have places", len(m.waiting), free)
	case len(m.waiting) > 0 && hopeful == 0:
		rt.Fatalf("%d calls wait and no pod is coming", len(m.waiting))
	}
}

// take notes the pods that were wanted, and the answers to calls.
func (m *machine) take(rt *rapid.T) {
	for _, slot := range m.started {
		if m.pods[slot] != "" {
			rt.Fatalf("slot %d is started, which is %s", slot, m.pods[slot])
		}
		m.pods[slot] = "starting"
	}
	// Other replicas may have other limits, so that there can be more pods; but then none is started.
	if s := m.Stats(); len(m.started) > 0 && s.Starting+s.Ready > m.config.MaxPods {
		rt.Fatalf("slots %v were started, which makes %+v", m.started, s)
	}
	m.started = nil
	var still []*call
	for _, c := range m.waiting {
		switch {
		case !c.done:
			still = append(still, c)
		case c.err == nil && len(still) > 0 && still[0] != c:
			rt.Fatal("a call has a place before one that came earlier")
		case c.err == nil:
			m.running = append(m.running, c)
		}
	}
	m.waiting = still
}

// finish makes every pod ready and gives every place back: then nobody may wait, and nothing may be left.
func (m *machine) finish(rt *rapid.T) {
	m.check(rt)
	for len(m.waiting)+len(m.running)+len(m.cutOff) > 0 {
		for slot, state := range m.pods {
			if state == "starting" {
				m.pods[slot] = "ready"
				delete(m.troubled, slot)
				m.ready(slot)
			}
		}
		for _, c := range slices.Concat(m.running, m.cutOff) {
			c.place.Release()
		}
		m.running, m.cutOff = nil, nil
		synctest.Wait()
		m.take(rt)
	}
	if s := m.Stats(); s.Running != 0 || s.Waiting != 0 {
		rt.Fatalf("at the end there is %+v", s)
	}
}
