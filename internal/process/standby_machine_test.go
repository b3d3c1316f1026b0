// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/internal/process/internal/child"
)

// fake is a standby process.
type fake struct {
	program, why string
	outdated     bool
	taken        bool
	ended        int
	mu           sync.Mutex
	leave        func()
}

func (f *fake) WhyNotIdle() string          { return f.why }
func (f *fake) Outdated(child.Command) bool { return f.outdated }

func (f *fake) Expendable(end func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave = end
}

func (f *fake) End() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended++
}

func (f *fake) state() (ended int, leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended, f.leave
}

// fakes starts fake processes. If fail is set, starts fail.
type fakes struct {
	mu   sync.Mutex
	all  []*fake
	fail bool
}

func (f *fakes) start(c Command) (childProcess, error) {
	time.Sleep(time.Millisecond) // synctest's clock
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail {
		return nil, errors.New("no start")
	}
	p := &fake{program: c.Argv[0]}
	f.all = append(f.all, p)
	return p, nil
}

// idle returns the processes that are neither taken nor ended, of one program or, if program is empty, of all.
func (f *fakes) idle(program string) (found []*fake) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.all {
		if ended, _ := p.state(); !p.taken && ended == 0 && (program == "" || p.program == program) {
			found = append(found, p)
		}
	}
	return found
}

// For any sequence of events: no process is taken or ended twice, taken by another command, or leaked; no process is taken that has
// exited, written or changed; and the limits on the number of processes hold.
func TestStandbyMachine(t *testing.T) {
	t.Parallel()
	const programs = 4
	rapid.Check(t, func(rt *rapid.T) {
		settings := Standby{Processes: rapid.IntRange(1, 3).Draw(rt, "processes"), Total: rapid.IntRange(1, 6).Draw(rt, "total"), IdleTime: 30 * time.Second}
		type step struct {
			Do, Program int
			Pause       int
		}
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{
				Do: rapid.IntRange(0, 8).Draw(t, "do"), Program: rapid.IntRange(0, programs-1).Draw(t, "program"),
				Pause: rapid.SampledFrom([]int{0, 0, 1, 10_000, 40_000}).Draw(t, "pause"),
			}
		}), 1, 60).Draw(rt, "steps")
		synctest.Test(t, func(t *testing.T) {
			var f fakes
			s := newStore(settings, f.start)
			unsupported := map[string]bool{}
			used := int64(0)
			for _, step := range steps {
				program := strconv.Itoa(step.Program)
				c := Command{Argv: []string{program}}
				switch step.Do {
				case 0, 1, 2:
					s.prepare(c)
				case 3, 4:
					got, _ := s.take(c).(*fake)
					if got == nil {
						continue
					}
					switch ended, leave := got.state(); {
					case got.taken || ended > 0 || leave != nil || got.program != program || got.why != "" || got.outdated:
						t.Fatalf("take() of program %s = %+v", program, got)
					default:
						got.taken = true
						used++
					}
				case 5, 6, 7:
					idle := f.idle(program)
					if len(idle) == 0 {
						continue
					}
					switch p := idle[0]; step.Do {
					case 5:
						p.why = "it wrote"
					case 6:
						p.outdated = true
					case 7:
						if _, leave := p.state(); leave != nil {
							leave()
						}
					}
				case 8:
					f.mu.Lock()
					f.fail = !f.fail
					f.mu.Unlock()
				}
				time.Sleep(time.Duration(step.Pause) * time.Millisecond)
				synctest.Wait()
				for _, p := range []string{"0", "1", "2", "3"} {
					s.mu.Lock()
					_, unsupported[p] = s.unsupported[keyOf(Command{Argv: []string{p}}).program]
					s.mu.Unlock()
					if n := len(f.idle(p)); n > settings.Processes || unsupported[p] && n > 0 {
						t.Fatalf("%d standby processes of program %s, unsupported: %v", n, p, unsupported[p])
					}
				}
				if n := len(f.idle("")); n > settings.Total || n > 0 && step.Pause > 30_000 {
					t.Fatalf("%d standby processes after %d ms", n, step.Pause)
				}
			}
			s.close()
			sum := int64(0)
			for _, n := range s.counts() {
				sum += n
			}
			if sum != int64(len(f.all)) || s.counts()[StandbyUsed] != used {
				t.Errorf("%d processes were started and %d used; outcomes are %v", len(f.all), used, s.counts())
			}
			for _, p := range f.all {
				if p.taken == (p.ended > 0) || p.ended > 1 {
					t.Errorf("process taken: %v, ended %d times", p.taken, p.ended)
				}
			}
		})
	})
}

// If calls follow each other closely and a CPU is idle, the next process starts while the current one runs.
func TestPace(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		pause, took time.Duration
		beside      int
		processors  int
		want        bool
	}{
		"short pause":            {pause: time.Millisecond, took: 5 * time.Millisecond, processors: 2, want: true},
		"long pause":             {pause: 20 * time.Millisecond, took: 5 * time.Millisecond, processors: 2},
		"another call in flight": {pause: time.Millisecond, took: 5 * time.Millisecond, beside: 1, processors: 2},
		"first call":             {processors: 2},
		"one processor":          {pause: time.Millisecond, took: 5 * time.Millisecond, processors: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var p pace
				if tc.took > 0 {
					p.begin(tc.processors)
					time.Sleep(tc.took)
					p.end()
				}
				time.Sleep(tc.pause)
				for range tc.beside {
					p.begin(tc.processors)
				}
				if got := p.begin(tc.processors); got != tc.want {
					t.Errorf("begin() = %v, want %v", got, tc.want)
				}
			})
		})
	}
}
