// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Commands that are used in turn do not end each other's processes: one makes room only when it has waited for a sixth of its idle time.
func TestStandbyMakesRoomWhenItIsSettled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f fakes
		s := newStore(Standby{Processes: 1, Total: 1, IdleTime: time.Minute}, f.start)
		defer s.close()
		want := func(program string) {
			t.Helper()
			time.Sleep(time.Millisecond) // which a start takes
			synctest.Wait()
			if got := f.waiting(""); len(got) != 1 || got[0].program != program {
				t.Fatalf("%d processes wait, want one of program %s", len(got), program)
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
		if diff := cmp.Diff(map[Fate]int64{FateEvicted: 1}, s.counted()); diff != "" {
			t.Errorf("fates (-want +got):\n%s", diff)
		}
	})
}

// A sweep, which orphans of a call wait for, can end every process that waits for a call, and none that answers one.
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
			t.Error("a process that answers a call is expendable")
		}
		for _, p := range f.waiting("") {
			_, leave := p.state()
			if leave == nil {
				t.Fatal("a process that waits for a call is not expendable")
			}
			leave()
		}
		synctest.Wait()
		if got := f.waiting(""); len(got) != 0 {
			t.Errorf("%d processes wait after the sweep, want none", len(got))
		}
		if diff := cmp.Diff(map[Fate]int64{FateUsed: 1, FateEvicted: 1}, s.counted()); diff != "" {
			t.Errorf("fates (-want +got):\n%s", diff)
		}
	})
}
