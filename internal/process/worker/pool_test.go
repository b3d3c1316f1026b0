// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/internal/process"
)

func TestIdleWorkersEnd(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 4, func(t *testing.T, th *fakePool) {
		th.want("a", "x", "process")
		th.want("a", "x", byWorker)
		time.Sleep(idleTime - time.Second)
		th.want("a", "x", byWorker)
		time.Sleep(idleTime - time.Second)
		if th.alive() != 1 {
			t.Error("a worker in use was ended")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if th.alive() != 0 {
			t.Error("an idle worker was not ended")
		}
		// The command is known to support the protocol, so a call waits for a worker.
		th.want("a", "x", byWorker)
		th.wantStarted(2)
	})
}

func TestOtherCommandsGetProcesses(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 4, func(t *testing.T, th *fakePool) {
		for _, c := range []process.Command{{Argv: []string{os.Args[0], "a"}}, {Worker: true}, {Argv: []string{"/is/not/there"}, Worker: true}} {
			if out, err := th.Pool.Run(t.Context(), c, nil); err != nil || string(out.Stdout) != "process" {
				t.Errorf("command %v: stdout %q, error %v; want a process", c.Argv, out.Stdout, err)
			}
		}
		th.wantStarted(0)
		th.want("a", "x", "process")
		c := process.Command{Argv: []string{os.Args[0], "a"}, Worker: true, MaxStdout: 7}
		if out, err := th.Pool.Run(t.Context(), c, nil); err != nil || string(out.Stdout) != "worker, limit 7" {
			t.Errorf("stdout = %q, error %v", out.Stdout, err)
		}
	})
}

// If all workers are busy with calls that hang, other calls wait for a limited time and then get a process.
func TestBusyWorkers(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 4, func(t *testing.T, th *fakePool) {
		th.want("a", "x", "process")
		ctx, cancel := context.WithCancel(t.Context())
		var hanging sync.WaitGroup
		for range 2 {
			hanging.Go(func() {
				_, err := th.Pool.Run(ctx, process.Command{Argv: []string{os.Args[0], "a"}, Worker: true}, []byte("hang"))
				if !errors.As(err, new(*process.KilledError)) {
					t.Errorf("Run() = %v, want a KilledError", err)
				}
			})
		}
		synctest.Wait()
		begin := time.Now()
		th.want("a", "x", "process")
		if waited := time.Since(begin); waited != maxWait {
			t.Errorf("the call waited %v, want %v", waited, maxWait)
		}
		// A worker that becomes idle within the waiting time answers the call.
		go func() { time.Sleep(maxWait / 2); cancel() }()
		th.want("a", "x", byWorker)
		hanging.Wait()
		synctest.Wait()
		th.want("a", "x", byWorker)
	})
}

func TestWorkersAreReplaced(t *testing.T) {
	t.Parallel()
	for list, started := range map[string]int64{"x": 1, "spend": 2, "wear": 2, "die": 2} {
		t.Run(list, func(t *testing.T) {
			t.Parallel()
			bubble(t, 1, 1, func(_ *testing.T, th *fakePool) {
				th.want("a", "x", "process")
				th.want("a", list, byWorker)
				th.wantStarted(started)
				th.want("a", "x", byWorker)
				th.wantStarted(started)
			})
		})
	}
	bubble(t, 1, 1, func(t *testing.T, th *fakePool) {
		th.want("a", "x", "process")
		for range maxCalls + 1 {
			th.want("a", "x", byWorker)
		}
		th.wantStarted(2)
		if th.fakes[0].calls != maxCalls {
			t.Errorf("the worker answered %d calls, want %d", th.fakes[0].calls, maxCalls)
		}
	})
}

// If a worker exits without reading its request, a process answers the call. If this happens to consecutive workers, the command gets
// no more workers.
func TestCallRunsAgainIfWorkerDidNotReadIt(t *testing.T) {
	t.Parallel()
	bubble(t, 1, 1, func(t *testing.T, th *fakePool) {
		th.want("a", "x", "process")
		for range maxFailures + 2 {
			th.want("a", "untouched", "process")
		}
		th.wantStarted(maxFailures)
		if got := th.Stats().Refused; got != 1 {
			t.Errorf("Stats().Refused = %d, want 1", got)
		}
	})
	// An answered call resets the count of failures.
	bubble(t, 1, 1, func(t *testing.T, th *fakePool) {
		th.want("a", "x", "process")
		for range maxFailures {
			for range maxFailures - 1 {
				th.want("a", "untouched", "process")
			}
			th.want("a", "x", byWorker)
		}
		if got := th.Stats().Refused; got != 0 {
			t.Errorf("Stats().Refused = %d, want 0", got)
		}
	})
	bubble(t, 2, 2, func(_ *testing.T, th *fakePool) {
		th.want("a", "x", "process")
		th.want("a", "foreign", byWorker)
		th.want("a", "x", "process")
		th.wantStarted(1)
	})
}

// The total number of workers is limited, and commands that are called in turn do not evict each other's workers.
func TestTotalLimitsWorkers(t *testing.T) {
	t.Parallel()
	bubble(t, 1, 2, func(_ *testing.T, th *fakePool) {
		for _, name := range []string{"a", "b"} {
			th.want(name, "x", "process")
			th.want(name, "x", byWorker)
		}
		th.want("c", "x", "process")
		th.want("c", "x", "process")
		th.want("b", "x", byWorker)
		th.want("a", "x", byWorker)
		time.Sleep(2 * minIdleTime)
		th.want("a", "x", byWorker)
		th.want("c", "x", "process")
		th.want("c", "x", byWorker) // evicts b's worker, which has been idle longest
		th.want("a", "x", byWorker)
		th.wantStarted(3)
	})
}

// Workers have the lowest memory limit of the command's calls. A call with a higher limit gets a process, and idle workers with lower
// limits end.
func TestMemory(t *testing.T) {
	t.Parallel()
	bubble(t, 1, 4, func(t *testing.T, th *fakePool) {
		want := func(memory int64, by string) {
			t.Helper()
			out, err := th.Pool.Run(t.Context(), process.Command{Argv: []string{os.Args[0], "a"}, Worker: true, MemoryLimit: memory, MaxData: memory}, nil)
			if err != nil || string(out.Stdout) != by {
				t.Errorf("call with %d bytes was answered by %q, error %v, want %q", memory, out.Stdout, err, by)
			}
			synctest.Wait()
		}
		want(2, "process")
		want(2, byWorker)
		want(3, "process")
		if th.alive() != 0 {
			t.Error("an idle worker was not ended for a call with a higher limit")
		}
		want(2, byWorker)
		other := process.Command{Argv: []string{os.Args[0], "b"}, MemoryLimit: 2}
		for range 2 {
			if _, err := th.Pool.Run(t.Context(), other, nil); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if alive := th.alive(); alive != int(3-other.MemoryLimit) {
				t.Errorf("during a call of another command with %d bytes, %d workers are alive", other.MemoryLimit, alive)
			}
			other.MemoryLimit++
		}
		want(2, byWorker)
		want(1, byWorker)
		want(1, byWorker)
		want(2, "process")
		for _, h := range th.fakes[3:] {
			if h.command.MemoryLimit != 1 {
				t.Errorf("memory limit of a worker = %d, want 1", h.command.MemoryLimit)
			}
		}
	})
}

// A worker that starts slowly delays no call for long. If its start fails, later calls still get workers.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 2, func(_ *testing.T, th *fakePool) {
		th.unready = time.Hour
		for range 3 {
			th.want("a", "x", "process")
		}
		th.wantStarted(1)
	})
	bubble(t, 1, 2, func(_ *testing.T, th *fakePool) {
		th.want("a", "x", "process")
		th.unready = maxWait * 3 / 2
		th.want("a", "spend", byWorker)
		th.want("a", "x", "process")
		th.want("a", "x", byWorker)
		th.noStart = errors.New("no start")
		th.want("a", "spend", byWorker)
		th.want("a", "x", "process")
		th.noStart = nil
		th.want("a", "x", "process")
		th.want("a", "x", byWorker)
	})
}

// Sweeps end workers between two calls.
func TestExpendable(t *testing.T) {
	t.Parallel()
	bubble(t, 1, 2, func(t *testing.T, th *fakePool) {
		th.want("a", "x", "process")
		th.fakes[0].leave()
		synctest.Wait()
		if th.alive() != 0 {
			t.Error("an idle worker was not ended")
		}
		th.want("a", "x", byWorker)
		var call sync.WaitGroup
		call.Go(func() {
			if got := th.call("a", "x"); got != byWorker {
				t.Errorf("answered by %q, want %q", got, byWorker)
			}
		})
		time.Sleep(time.Microsecond)
		th.fakes[1].leave()
		call.Wait()
		synctest.Wait()
		if th.fakes[1].ended.Err() == nil {
			t.Error("a busy worker was not ended after its call")
		}
		th.unready = time.Second
		th.want("b", "x", "process")
		th.fakes[len(th.fakes)-1].leave()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if th.fakes[len(th.fakes)-1].ended.Err() == nil {
			t.Error("a starting worker was not ended when it became ready")
		}
	})
}
