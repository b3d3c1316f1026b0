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

	"github.com/krmfn/krmfn/function-runner/internal/lifecycle"
	"github.com/krmfn/krmfn/function-runner/internal/pool"
)

// machine is a pool and what must be true of it, whatever happens in whichever order.
type machine struct {
	*harness
	config pool.Config
	// pods are the pods of the pool, by ordinal.
	pods map[int]*pool.Pod
	// blocked has the ordinals that must get no pod, and until when.
	blocked map[int]time.Time
	// saturated has the pods that have answered busy lately.
	saturated map[*pool.Pod]bool
	// offered are the pods that were said to be idle.
	offered []*pool.Pod
	// waiting are the calls without an answer, in order; running are those with a lease; cutOff those whose pod has gone.
	waiting, running, cutOff []*call
	// returned is the number of calls that a busy pod has sent back.
	returned int
	// failing says that a pod has failed and none has started since; the others what was true before the last move.
	failing, wasFailing, wasBackingOff bool
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
			m := &machine{harness: newHarness(t, c), config: c, pods: map[int]*pool.Pod{}, blocked: map[int]time.Time{}, saturated: map[*pool.Pod]bool{}}
			rt.Repeat(map[string]func(*rapid.T){
				"call": m.arrive, "cancel": m.leave, "release": m.release, "busy": m.busy, "report": m.report,
				"answer": m.answer, "event": m.event, "problem": m.setProblem, "adopt": m.adopt,
				"abandon": m.abandonOne, "withdraw": m.withdraw, "die": m.die, "avoid": m.avoidOne,
				"look": m.look, "expire": m.expireOne, "fill": m.fill, "warm": m.warm, "limit": m.limit, "sleep": m.sleep, "": m.check,
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
	// free are the pods that have room, hopeful those that have some or may.
	free, hopeful int
	// slack is how many more calls make no other pod needed.
	slack int
}

func (s sizes) live() int { return s.Starting + s.Ready }

func (m *machine) sizes() sizes {
	s := sizes{Stats: pool.Stats{Running: len(m.running), Waiting: len(m.waiting)}}
	for _, p := range m.pods {
		switch p.State() {
		case lifecycle.Requested, lifecycle.Starting:
			s.Starting++
			s.slack += max(0, m.config.Waitlist-m.in(p))
			if p.Problem() == nil {
				s.hopeful++
			}
		case lifecycle.Ready:
			s.Ready++
			s.hopeful++
			s.slack += max(0, m.config.Waitlist-m.in(p))
			if m.in(p) < m.config.PerPod && !m.saturated[p] {
				s.free++
			}
		case lifecycle.Unreachable:
			s.Unreachable++
		default:
			s.Leaving++
		}
	}
	return s
}

// in returns how many calls run in a pod.
func (m *machine) in(p *pool.Pod) int {
	n := 0
	for _, c := range m.running {
		if c.lease.Pod == p {
			n++
		}
	}
	return n
}

// check sorts out what has happened, and checks the invariants.
func (m *machine) check(rt *rapid.T) {
	m.starts(rt)
	m.answers(rt)
	s, got := m.sizes(), m.Stats()
	s.BackingOff, s.LastFailure = got.BackingOff, got.LastFailure
	switch {
	case got != s.Stats:
		rt.Fatalf("Stats() = %+v, want %+v", got, s.Stats)
	case got.BackingOff && !m.failing:
		rt.Fatal("the pool backs off, and nothing has failed")
	case s.Waiting > m.config.MaxWaiting+m.returned:
		rt.Fatalf("%d calls wait, want at most %d", s.Waiting, m.config.MaxWaiting)
	case s.Waiting > 0 && s.free > 0:
		rt.Fatalf("%d calls wait while %d pods have room", s.Waiting, s.free)
	case s.Waiting > 0 && s.hopeful == 0:
		rt.Fatalf("%d calls wait and no pod is coming: %+v", s.Waiting, s)
	case !m.failing && s.Waiting > s.slack && s.live() < m.config.MaxPods && len(m.pods) < 2*m.config.MaxPods+2:
		rt.Fatalf("calls wait and no other pod is requested: %+v", s)
	}
	m.wasFailing, m.wasBackingOff = m.failing, got.BackingOff
}

// starts notes the pods that were requested.
func (m *machine) starts(rt *rapid.T) {
	for _, ordinal := range m.started {
		switch {
		case m.pods[ordinal] != nil:
			rt.Fatalf("pod %d is requested, which is %s", ordinal, m.pods[ordinal].State())
		case time.Now().Before(m.blocked[ordinal]):
			rt.Fatalf("pod %d is requested, whose ordinal is blocked", ordinal)
		}
		m.pods[ordinal] = m.Adopt(ordinal)
	}
	// Other replicas may have other limits, so that there can be more pods; but then none is requested.
	s := m.sizes()
	switch {
	case len(m.started) > 0 && s.live() > m.config.MaxPods:
		rt.Fatalf("pods %v were requested, which makes %+v", m.started, s)
	case len(m.started) > 0 && m.wasBackingOff && m.failing && m.Stats().BackingOff:
		rt.Fatalf("pods %v were requested while the pool backs off", m.started)
	case len(m.started) > 0 && m.wasFailing && m.failing && s.Starting > 1:
		rt.Fatalf("pods %v were requested at once, though pods fail", m.started)
	case len(m.started) > 0 && len(m.pods) > 2*m.config.MaxPods+2:
		rt.Fatalf("pods %v were requested, which makes %d, with a maximum of %d", m.started, len(m.pods), m.config.MaxPods)
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
			rt.Fatal("a call has a lease before one that came earlier")
		case m.pods[c.lease.Pod.Ordinal] != c.lease.Pod || !c.lease.Pod.In(lifecycle.Ready):
			rt.Fatalf("a call has a lease on pod %d, which is %s", c.lease.Pod.Ordinal, c.lease.Pod.State())
		default:
			m.running = append(m.running, c)
		}
	}
	m.waiting = still
}

// refused checks that a call was rejected for a reason.
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

// finish makes every pod ready and gives every lease back: then nobody may wait, and nothing may be left.
func (m *machine) finish(rt *rapid.T) {
	m.check(rt)
	for len(m.waiting)+len(m.running)+len(m.cutOff) > 0 {
		for _, p := range m.pods {
			if p.In(lifecycle.Requested, lifecycle.Starting) {
				m.answerOne(p)
			}
		}
		for _, c := range slices.Concat(m.running, m.cutOff) {
			c.lease.Release()
		}
		m.running, m.cutOff = nil, nil
		// Saturated pods are tried again.
		time.Sleep(time.Minute)
		m.saturated = map[*pool.Pod]bool{}
		synctest.Wait()
		m.check(rt)
	}
	if s := m.Stats(); s.Running != 0 || s.Waiting != 0 {
		rt.Fatalf("at the end there is %+v", s)
	}
}
