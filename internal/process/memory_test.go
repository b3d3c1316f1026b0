// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/process/programtest"
	"github.com/krmfn/krmfn/services/evaluation"
)

const empty = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"

func evaluate(t *testing.T, m Memory, script, list string) (evaluation.Response, error) {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	programtest.Write(t, program, "#!/bin/sh\n"+script)
	runner := NewRunner(Options{ScratchRoot: t.TempDir()})
	defer runner.Close()
	f := Function{Runner: runner, Command: Command{Argv: []string{program}, Env: []string{"PATH=/bin:/usr/bin"}}}
	return m.Limit(f).Evaluate(t.Context(), evaluation.Request{ResourceList: []byte(list)})
}

// GOMEMLIMIT is 90% of an executable's memory limit. The limit grows with the list, up to the total.
func TestMemoryOfExecutable(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, test := range map[string]struct {
		total       int64
		executables int
		list        int
		want        int64
	}{
		"small list: equal share":         {1000 * mib, 4, 1, 250 * mib},
		"small total: minimum":            {100 * mib, 4, 0, 64 * mib},
		"large list: more than its share": {1000 * mib, 4, 6 * mib, (64 + 72*6) * mib},
		"very large list: all memory":     {1000 * mib, 4, 64 * mib, 1000 * mib},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewMemory(test.total, test.executables)
			resp, err := evaluate(t, m, "echo kind: ResourceList; echo limit: $GOMEMLIMIT", strings.Repeat(" ", test.list))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("kind: ResourceList\nlimit: "+strconv.FormatInt(test.want/10*9, 10)+"\n", string(resp.ResourceList)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if reserved, waiting := m.Budget.Load(); reserved != 0 || waiting != 0 {
				t.Errorf("Load() = %d bytes reserved, %d waiting, want 0, 0", reserved, waiting)
			}
		})
	}
}

func TestExecutableOutOfMemory(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		want   error
	}{
		"allocation refused by the kernel": {"read line; dd if=/dev/zero of=/dev/null bs=1500M count=1 && cat", &evaluation.ExhaustedError{Total: minMemory}},
		"Go program":                       {"echo 'fatal error: runtime: out of memory' >&2; exit 2", &evaluation.ExhaustedError{Total: minMemory}},
		"crash of the Go runtime":          {"printf 'SIGSEGV: segmentation violation\nPC=0x43751d m=4 sigcode=1 addr=0x0\n\ngoroutine 0 gp=0x1 m=4 mp=0x2 [idle]:\nruntime.(*spanQueue).tryDrain(0x27)\n' >&2; exit 2", &evaluation.ExhaustedError{Total: minMemory}},
		"Go program with cgo":              {"echo 'runtime/cgo: pthread_create failed: Resource temporarily unavailable' >&2; exit 2", &evaluation.ExhaustedError{Total: minMemory}},
		"C++ program":                      {"echo 'what():  std::bad_alloc' >&2; kill -ABRT $$", &evaluation.ExhaustedError{Total: minMemory}},
		"fails for another reason":         {"echo 'not good' >&2; exit 2", nil},
		"panic of a Go program":            {"printf 'panic: runtime error: invalid memory address\n[signal SIGSEGV: segmentation violation]\n\ngoroutine 1 [running]:\n' >&2; exit 2", nil},
		"fails with results":               {"cat; printf 'results:\n- message: x\n'; echo out of memory >&2; exit 1", nil},
		"succeeds with the message":        {"cat; echo out of memory >&2", nil},
		"invalid output with the message":  {"echo out of memory >&2", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := evaluate(t, NewMemory(0, 1), test.script, empty)
			if diff := cmp.Diff(test.want, err); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Small lists have equal limits, so that a standby process started for one call can answer the next. A large list gets a new process.
func TestStandbyByMemory(t *testing.T) {
	t.Parallel()
	const mib, kib = 1 << 20, 1 << 10
	for name, test := range map[string]struct {
		total       int64
		executables int
		lists       []int
		want        int64
	}{
		"plenty of memory": {1000 * mib, 4, []int{1, 10 * kib, 200 * kib, mib}, 4},
		"little memory":    {600 * mib, 100, []int{1, 10 * kib, 200 * kib}, 3},
		"almost no memory": {1, 100, []int{1, 10 * kib, mib}, 2},
		"a large list":     {1000 * mib, 4, []int{1, 4 * mib, 4 * mib, 1}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := NewMemory(test.total, test.executables)
			runner := NewRunner(Options{ScratchRoot: t.TempDir(), Standby: Standby{Processes: 1}})
			defer runner.Close()
			f := Function{Runner: runner, Command: Command{Argv: []string{"/bin/cat"}}}
			runner.Prepare(m.Prepared(f.Command))
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			for _, size := range test.lists {
				list := empty + strings.Repeat("\n", size-1)
				if resp, err := m.Limit(f).Evaluate(ctx, evaluation.Request{ResourceList: []byte(list)}); err != nil || string(resp.ResourceList) != list {
					t.Fatalf("Evaluate() of %d bytes: report %v, error %v", size, resp.Report, err)
				}
			}
			if used := runner.StandbyOutcomes()[StandbyUsed]; used != test.want {
				t.Errorf("%d calls used a standby process, want %d", used, test.want)
			}
		})
	}
}

func TestStandbyShare(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for total, want := range map[int64]int{0: 0, 90 * mib: 0, 100 * mib: 1, 563 * mib: 5, 1 << 40: maxStandby} {
		processes, left := StandbyShare(total)
		if processes != want || left != total-int64(processes)*memoryPerStandby {
			t.Errorf("StandbyShare(%d) = %d processes, %d bytes left; want %d processes", total, processes, left, want)
		}
	}
}
