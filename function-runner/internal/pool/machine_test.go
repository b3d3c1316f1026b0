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

// machine is a model of a pool, whose invariants must hold after any sequence of operations.
type machine struct {
	*harness
	config pool.Config
	// pods are the pods of the pool, by ordinal.
	pods map[int]*pool.Pod
	// blocked maps ordinals that must not be used to the times when they become free.
	blocked map[int]time.Time
	// saturated holds the pods that have answered busy recently.
	saturated map[*pool.Pod]bool
	// offered holds the pods that were returned as idle.
	offered []*pool.Pod
	// waiting holds the calls without an answer, in order. running holds the calls with a lease. cutOff holds the calls whose pod was
	// removed.
	waiting, running, cutOff []*call
	// returned is the number of calls that busy pods have sent back.
	returned int
	// failing reports that a pod has failed and none has started since. wasFailing and wasBackingOff are the values before the latest
	// operation.
	failing, wasFailing, wasBackingOff bool
}

// bubble hides the Deadline method of a test from rapid, because there is no deadline in a bubble.
type bubble struct{ testing.TB }

var errStart = errors.New("no such image")

// TestMachine runs random operations of callers, pods and other replicas.
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

// sizes are the sizes of the model.
type sizes struct {
	pool.Stats
	// free is the number of pods with capacity. hopeful is the number of pods that are ready or may become ready.
	free, hopeful int
	// slack is the number of further calls that need no other pod.
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

// in returns the number of calls that run in a pod.
func (m *machine) in(p *pool.Pod) int {
	n := 0
	for _, c := range m.running {
		if c.lease.Pod == p {
			n++
		}
	}
	return n
}

// check updates the model and checks the invariants.
func (m *machine) check(rt *rapid.T) {
	synctest.Wait()
	m.starts(rt)
	m.answers(rt)
	s, got := m.sizes(), m.Stats()
	s.BackingOff, s.LastFailure = got.BackingOff, got.LastFailure
	switch {
	case got != s.Stats:
		rt.Fatalf("Stats() = %+v, want %+v", got, s.Stats)
	case got.BackingOff && !m.failing:
		rt.Fatal("BackingOff = true without a failure")
	case s.Waiting > m.config.MaxWaiting+m.returned:
		rt.Fatalf("waiting calls = %d, want at most %d", s.Waiting, m.config.MaxWaiting)
	case s.Waiting > 0 && s.free > 0:
		rt.Fatalf("%d calls wait while %d pods have capacity", s.Waiting, s.free)
	case s.Waiting > 0 && s.hopeful == 0:
		rt.Fatalf("%d calls wait without a pod that may take them: %+v", s.Waiting, s)
	case m.mayRequest() && s.Waiting > s.slack && s.live() < m.config.MaxPods:
		rt.Fatalf("calls wait but no other pod was requested: %+v", s)
	}
	m.wasFailing, m.wasBackingOff = m.failing, got.BackingOff
}

// starts adds the requested pods to the model.
func (m *machine) starts(rt *rapid.T) {
	for _, ordinal := range m.started {
		switch {
		case m.pods[ordinal] != nil:
			rt.Fatalf("pod %d was requested again in state %s", ordinal, m.pods[ordinal].State())
		case time.Now().Before(m.blocked[ordinal]):
			rt.Fatalf("pod %d was requested although its ordinal is blocked", ordinal)
		}
		m.pods[ordinal] = m.Adopt(ordinal)
	}
	// There may be pods above the maximum, because other replicas may have other limits, but then this replica must not request any.
	s := m.sizes()
	switch {
	case len(m.started) > 0 && s.live() > m.config.MaxPods:
		rt.Fatalf("pods %v were requested above the maximum: %+v", m.started, s)
	case len(m.started) > 0 && m.wasBackingOff && m.failing && m.Stats().BackingOff:
		rt.Fatalf("pods %v were requested during the backoff", m.started)
	case len(m.started) > 0 && m.wasFailing && m.failing && s.Starting > 1:
		rt.Fatalf("pods %v were requested at the same time after a failure", m.started)
	case len(m.started) > 0 && len(m.pods) > 2*m.config.MaxPods+2:
		rt.Fatalf("pods %v were requested, so that %d exist with a maximum of %d", m.started, len(m.pods), m.config.MaxPods)
	}
	m.started = nil
}

// answers updates the calls that got an answer.
func (m *machine) answers(rt *rapid.T) {
	var still []*call
	for _, c := range m.waiting {
		switch {
		case !c.done:
			still = append(still, c)
		case c.err != nil:
			m.refused(rt, c.err)
		case len(still) > 0:
			rt.Fatal("a call got a lease before an earlier call")
		case m.pods[c.lease.Pod.Ordinal] != c.lease.Pod || !c.lease.Pod.In(lifecycle.Ready):
			rt.Fatalf("a call got a lease on pod %d in state %s", c.lease.Pod.Ordinal, c.lease.Pod.State())
		default:
			m.running = append(m.running, c)
		}
	}
	m.waiting = still
}

// refused checks that a call was rejected for a valid reason.
func (m *machine) refused(rt *rapid.T, err error) {
	s := m.sizes()
	var backoff *pool.BackoffError
	var full *pool.FullError
	switch {
	case errors.As(err, &full):
		if full.Waiting < m.config.MaxWaiting || full.Waiting > m.config.MaxWaiting+m.returned {
			rt.Fatalf("FullError = %v, want %d to %d waiting calls", err, m.config.MaxWaiting, m.config.MaxWaiting+m.returned)
		}
	case errors.As(err, &backoff) && (s.live() > 0 || !m.failing || !time.Now().Before(backoff.Until)):
		rt.Fatalf("a call was rejected until %v with %+v", backoff.Until, s)
	case errors.Is(err, errStart) && s.hopeful > 0:
		rt.Fatalf("a call was rejected with %+v", s)
	}
}

// finish makes all pods ready and releases all leases. Then no call may wait or run.
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
		// Saturated pods are retried.
		time.Sleep(time.Minute)
		m.saturated = map[*pool.Pod]bool{}
		synctest.Wait()
		m.check(rt)
	}
	if s := m.Stats(); s.Running != 0 || s.Waiting != 0 {
		rt.Fatalf("Stats() at the end = %+v, want no calls", s)
	}
}
