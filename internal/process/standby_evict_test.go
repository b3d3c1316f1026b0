// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Commands that are called in turn do not evict each other's processes: a process can be evicted only after a sixth of its idle time.
func TestStandbyEvictionAge(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f fakes
		s := newStore(Standby{Processes: 1, Total: 1, IdleTime: time.Minute}, f.start)
		defer s.close()
		want := func(program string) {
			t.Helper()
			time.Sleep(time.Millisecond) // the duration of a start
			synctest.Wait()
			if got := f.idle(""); len(got) != 1 || got[0].program != program {
				t.Fatalf("%d standby processes, want 1 of program %s", len(got), program)
			}
		}
		begin := time.Now()
		s.prepare(Command{Argv: []string{"first"}})
		want("first")
		time.Sleep(10*time.Second - 1 - time.Since(begin))
		s.prepare(Command{Argv: []string{"second"}})
		want("first")
		s.prepare(Command{Argv: []string{"second"}})
		want("second")
		if diff := cmp.Diff(map[StandbyOutcome]int64{StandbyEvicted: 1}, s.counts()); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
	})
}

// A sweep that waits for orphans of a call can end every idle standby process, and no process that answers a call.
func TestStandbyIsExpendable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f fakes
		s := newStore(Standby{Processes: 2}, f.start)
		defer s.close()
		c := Command{Argv: []string{"program"}}
		for range s.Processes {
			s.prepare(c)
			time.Sleep(time.Second)
		}
		taken := s.take(c).(*fake)
		taken.taken = true
		if _, leave := taken.state(); leave != nil {
			t.Error("take() returned a process that is still expendable")
		}
		for _, p := range f.idle("") {
			_, leave := p.state()
			if leave == nil {
				t.Fatal("a process that waits for a call is not expendable")
			}
			leave()
		}
		synctest.Wait()
		if got := f.idle(""); len(got) != 0 {
			t.Errorf("%d standby processes after the sweep, want 0", len(got))
		}
		if diff := cmp.Diff(map[StandbyOutcome]int64{StandbyUsed: 1, StandbyEvicted: 1}, s.counts()); diff != "" {
			t.Errorf("outcomes (-want +got):\n%s", diff)
		}
	})
}
