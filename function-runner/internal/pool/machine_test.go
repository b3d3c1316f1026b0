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
	pods map[int]*modelPod
	// blocked has the slots that must get no pod, and until when.
	blocked map[int]time.Time
	// named are the slots that were said to be idle.
	named []int
	// waiting are the calls without an answer, in order; running are those with a place; cutOff those whose pod has gone.
	waiting, running, cutOff []*call
	// failing says that a pod has failed and none has started since; the others what was true before the last move.
	failing, wasFailing, wasBackingOff bool
}

type modelPod struct {
	// state is starting, ready, unreachable, givenUp or leaving.
	state string
	// troubled says that it may never become ready, recalled that it was given up and is wanted back.
	troubled, recalled bool
	// served says that it was ready.
	served bool
}

// bubble is a test whose deadline rapid does not ask for: there is none in a bubble.
type bubble struct{ testing.TB }

var errStart = errors.New("no such image")

// TestMachine does at random what callers, pods and other replicas do.
func TestMachine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubble{t}, func(rt *rapid.T) {
			c := drawConfig(rt)
			c.MaxWaiting = rapid.IntRange(1, 6).Draw(rt, "maxWaiting")
			m := &machine{harness: newHarness(t, c), config: c, pods: map[int]*modelPod{}, blocked: map[int]time.Time{}}
			rt.Repeat(map[string]func(*rapid.T){
				"call": m.arrive, "cancel": m.leave, "release": m.release, "report": m.report,
				"ready": m.becomeReady, "unreachable": m.unreachable, "doubt": m.doubt, "problem": m.problem,
				"notMade": m.notMade, "withdraw": m.withdraw, "fail": m.fail, "die": m.die, "terminate": m.terminate, "avoid": m.avoid, "adopt": m.adopt,
				"look": m.look, "giveUp": m.giveUp, "keep": m.keep,
				"fill": m.fill, "warm": m.warm, "limit": m.limit, "sleep": m.sleep, "": m.check,
			})
			m.finish(rt)
		})
	})
}

func drawConfig(rt *rapid.T) pool.Config {
	c := pool.Config{
		MaxPods: rapid.IntRange(1, 4).Draw(rt, "pods"), Waitlist: rapid.IntRange(1, 3).Draw(rt, "waitlist"),
		PerPod: rapid.IntRange(1, 4).Draw(rt, "perPod"), TTL: time.Minute,
	}
	c.MinPods = rapid.IntRange(0, c.MaxPods).Draw(rt, "minPods")
	return c
}

// sizes are what the model has.
type sizes struct {
	pool.Stats
	// free are the pods that have places, hopeful those that have some or may.
	free, hopeful int
	// room is how many more calls make no other pod wanted.
	room int
}

func (s sizes) live() int { return s.Starting + s.Ready }

func (m *machine) sizes() sizes {
	s := sizes{Stats: pool.Stats{Running: len(m.running), Waiting: len(m.waiting)}}
	for slot, p := range m.pods {
		switch p.state {
		case "starting":
			s.Starting++
			s.room += max(0, m.config.Waitlist-m.in(slot))
			if !p.troubled {
				s.hopeful++
			}
		case "ready":
			s.Ready++
			s.hopeful++
			s.room += max(0, m.config.Waitlist-m.in(slot))
			if m.in(slot) < m.config.PerPod {
				s.free++
			}
		case "unreachable":
			s.Unreachable++
		default:
			s.Leaving++
		}
	}
	return s
}

// in returns how many calls run in a slot.
func (m *machine) in(slot int) int {
	n := 0
	for _, c := range m.running {
		if c.place.Slot == slot {
			n++
		}
	}
	return n
}

// check sorts out what has happened, and holds it against the rules.
func (m *machine) check(rt *rapid.T) {
	m.starts(rt)
	m.answers(rt)
	s, got := m.sizes(), m.Stats()
	s.BackingOff, s.LastFailure = got.BackingOff, got.LastFailure
	switch {
	case got != s.Stats:
		rt.Fatalf("the pool says %+v, want %+v", got, s.Stats)
	case (got.BackingOff || got.LastFailure != nil) && !m.failing:
		rt.Fatal("it backs off or tells of a failure, and nothing has failed")
	case s.Waiting > m.config.MaxWaiting:
		rt.Fatalf("%d calls wait, of %d at most", s.Waiting, m.config.MaxWaiting)
	case s.Waiting > 0 && s.free > 0:
		rt.Fatalf("%d calls wait while %d pods have places", s.Waiting, s.free)
	case s.Waiting > 0 && s.hopeful == 0:
		rt.Fatalf("%d calls wait and no pod is coming", s.Waiting)
	case !m.failing && s.Waiting > s.room && s.live() < m.config.MaxPods:
		rt.Fatalf("calls wait and want no other pod: %+v", s)
	}
	m.wasFailing, m.wasBackingOff = m.failing, got.BackingOff
}

// starts notes the pods that were wanted.
func (m *machine) starts(rt *rapid.T) {
	fresh := 0
	for _, slot := range m.started {
		p := m.pods[slot]
		switch {
		case p == nil && time.Now().Before(m.blocked[slot]):
			rt.Fatalf("slot %d is started, which is blocked", slot)
		case p == nil:
			m.pods[slot] = &modelPod{state: "starting"}
			fresh++
		case p.state == "givenUp":
			p.state, p.recalled = "starting", true
		default:
			rt.Fatalf("slot %d is started, which is %s", slot, p.state)
		}
	}
	// Other replicas may have other limits, so that there can be more pods; but then none is started.
	s := m.sizes()
	switch {
	case len(m.started) > 0 && s.live() > m.config.MaxPods:
		rt.Fatalf("slots %v were started, which makes %+v", m.started, s)
	case fresh > 0 && m.wasBackingOff && m.failing && m.Stats().BackingOff:
		rt.Fatalf("slots %v were started while it backs off", m.started)
	case fresh > 0 && m.wasFailing && m.failing && s.Starting > 1:
		rt.Fatalf("slots %v were started at once, though pods fail", m.started)
	}
	m.started = nil
}

// answers notes the answers to calls.
func (m *machine) answers(rt *rapid.T) {
	var still []*call
	for _, c := range m.waiting {
		switch {
		case !c.done:
			still = append(still, c)
		case c.err != nil:
			m.refused(rt, c.err)
		case len(still) > 0:
			rt.Fatal("a call has a place before one that came earlier")
		case m.pods[c.place.Slot] == nil || m.pods[c.place.Slot].state != "ready":
			rt.Fatalf("a call has a place in slot %d: %+v", c.place.Slot, m.pods[c.place.Slot])
		default:
			m.running = append(m.running, c)
		}
	}
	m.waiting = still
}

// refused holds a refusal against what there is.
func (m *machine) refused(rt *rapid.T, err error) {
	s := m.sizes()
	var backoff *pool.BackoffError
	var full *pool.FullError
	switch {
	case errors.As(err, &full):
		if full.Waiting != m.config.MaxWaiting {
			rt.Fatalf("%v, of %d at most", err, m.config.MaxWaiting)
		}
	case errors.As(err, &backoff) && (s.live() > 0 || !m.failing || !time.Now().Before(backoff.Until)):
		rt.Fatalf("a call is refused until %v by %+v", backoff.Until, s)
	case errors.Is(err, errStart) && s.hopeful > 0:
		rt.Fatalf("a call is refused by %+v", s)
	}
}

// finish makes every pod ready and gives every place back: then nobody may wait, and nothing may be left.
func (m *machine) finish(rt *rapid.T) {
	m.check(rt)
	for len(m.waiting)+len(m.running)+len(m.cutOff) > 0 {
		for slot, p := range m.pods {
			if p.state == "starting" {
				m.becomes(slot, p)
			}
		}
		for _, c := range slices.Concat(m.running, m.cutOff) {
			c.place.Release()
		}
		m.running, m.cutOff = nil, nil
		synctest.Wait()
		m.check(rt)
	}
	if s := m.Stats(); s.Running != 0 || s.Waiting != 0 {
		rt.Fatalf("at the end there is %+v", s)
	}
}
