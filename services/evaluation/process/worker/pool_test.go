// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/krmfn/krmfn/services/evaluation/process"
)

// theatre is a pool of workers that are played.
type theatre struct {
	*Pool
	t     testing.TB
	hands []*played
	// unready has workers that are started from now on take that long to greet, and noStart fails their starts.
	unready time.Duration
	noStart error
	// processes counts the calls that got a process.
	processes atomic.Int64
}

// played is a worker that does what its calls say.
type played struct {
	theatre *theatre
	command process.Command
	unready time.Duration
	ended   context.Context //nolint:containedctx // it is the end of the worker, as a channel with a function
	stop    context.CancelFunc
	closed  chan struct{}
	calling atomic.Bool
	calls   int
	wear    bool
	leave   func()
}

func play(t testing.TB, perCommand, total int) *theatre {
	th := &theatre{t: t}
	th.Pool = newPool(th, 100, Options{PerCommand: perCommand, Total: total, Log: slog.New(slog.DiscardHandler)}, th.start)
	return th
}

// Run is a process for one call.
func (th *theatre) Run(context.Context, process.Command, []byte) (process.Outcome, error) {
	th.processes.Add(1)
	return process.Outcome{Stdout: []byte("process")}, nil
}

func (th *theatre) start(c process.Command) (hand, error) {
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.noStart != nil {
		return nil, th.noStart
	}
	h := &played{theatre: th, command: c, unready: th.unready, closed: make(chan struct{})}
	h.ended, h.stop = context.WithCancel(context.Background()) // until it is ended
	context.AfterFunc(h.ended, func() { close(h.closed) })
	th.hands = append(th.hands, h)
	return h, nil
}

func (h *played) greet() error {
	select {
	case <-time.After(h.unready):
		return nil
	case <-h.ended.Done():
		return errors.New("ended")
	}
}

func (h *played) call(ctx context.Context, list []byte, maxStdout int64) (out process.Outcome, f fate, err error) {
	if !h.calling.CompareAndSwap(false, true) {
		h.theatre.t.Error("a worker has two calls at once")
	}
	defer h.calling.Store(false)
	h.calls++
	if h.ended.Err() != nil {
		return out, untouched, nil
	}
	out.Stdout = fmt.Appendf(nil, "worker, limit %d", maxStdout)
	switch string(list) {
	case "spend":
		f = spent
	case "wear":
		h.wear = true
	case "foreign":
		f = foreign
	case "untouched":
		f = untouched
	case "die":
		h.stop() // after its answer
	case "hang":
		select {
		case <-ctx.Done():
		case <-h.ended.Done():
		}
		return out, spent, &process.KilledError{Cause: context.Cause(ctx)}
	}
	time.Sleep(time.Millisecond)
	return out, f, nil
}

func (h *played) worn() bool              { return h.wear }
func (h *played) end()                    { h.stop() }
func (h *played) gone() <-chan struct{}   { return h.closed }
func (h *played) expendable(leave func()) { h.leave = leave }

func (th *theatre) alive() (n int) {
	th.mu.Lock()
	defer th.mu.Unlock()
	for _, h := range th.hands {
		if h.ended.Err() == nil {
			n++
		}
	}
	return n
}

// call makes a call and returns who has answered it.
func (th *theatre) call(name, list string) string {
	out, err := th.Pool.Run(th.t.Context(), process.Command{Argv: []string{os.Args[0], name}, Worker: true}, []byte(list))
	if err != nil {
		return err.Error()
	}
	return string(out.Stdout)
}

const byWorker = "worker, limit 100"

// want makes a call and holds it to who should answer it. What it has set going is done then.
func (th *theatre) want(name, list, by string) {
	th.t.Helper()
	if got := th.call(name, list); got != by {
		th.t.Errorf("call %s of %s is answered by %q, want %q", list, name, got, by)
	}
	synctest.Wait()
}

// bubble plays in a bubble of its own time.
func bubble(t *testing.T, perCommand, total int, test func(t *testing.T, th *theatre)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		th := play(t, perCommand, total)
		test(t, th)
		th.Close()
		if n := th.alive(); n != 0 || th.Stats().Workers != 0 {
			t.Errorf("after the end %d workers live, stats %+v", n, th.Stats())
		}
		th.want("late", "x", "process")
	})
}

func (th *theatre) wantStarted(n int64) {
	th.t.Helper()
	if got := th.Stats().Started; got != n {
		th.t.Errorf("%d workers have been started, want %d", got, n)
	}
}

func TestIdleWorkersEnd(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 4, func(t *testing.T, th *theatre) {
		th.want("a", "x", "process")
		th.want("a", "x", byWorker)
		time.Sleep(idleTime - time.Second)
		th.want("a", "x", byWorker)
		time.Sleep(idleTime - time.Second)
		if th.alive() != 1 {
			t.Error("it ends while it is in use")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if th.alive() != 0 {
			t.Error("it lives on")
		}
		// The command is known to be a worker now: calls wait for one.
		th.want("a", "x", byWorker)
		th.wantStarted(2)
	})
}

func TestOnlyWorkersAreAsked(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 4, func(t *testing.T, th *theatre) {
		for _, c := range []process.Command{{Argv: []string{os.Args[0], "a"}}, {Worker: true}, {Argv: []string{"/is/not/there"}, Worker: true}} {
			if out, err := th.Pool.Run(t.Context(), c, nil); err != nil || string(out.Stdout) != "process" {
				t.Errorf("got %q, error %v", out.Stdout, err)
			}
		}
		th.wantStarted(0)
		th.want("a", "x", "process")
		c := process.Command{Argv: []string{os.Args[0], "a"}, Worker: true, MaxStdout: 7}
		if out, err := th.Pool.Run(t.Context(), c, nil); err != nil || string(out.Stdout) != "worker, limit 7" {
			t.Errorf("got %q, error %v", out.Stdout, err)
		}
	})
}

// Calls that hang hold others up for a moment only.
func TestBusyWorkers(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 4, func(t *testing.T, th *theatre) {
		th.want("a", "x", "process")
		ctx, cancel := context.WithCancel(t.Context())
		var hanging sync.WaitGroup
		for range 2 {
			hanging.Go(func() {
				_, err := th.Pool.Run(ctx, process.Command{Argv: []string{os.Args[0], "a"}, Worker: true}, []byte("hang"))
				if !errors.As(err, new(*process.KilledError)) {
					t.Errorf("got error %v", err)
				}
			})
		}
		synctest.Wait()
		begin := time.Now()
		th.want("a", "x", "process")
		if waited := time.Since(begin); waited != patience {
			t.Errorf("beside calls that hang another waits for %v, want %v", waited, patience)
		}
		// One that is freed in time is taken.
		go func() { time.Sleep(patience / 2); cancel() }()
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
			bubble(t, 1, 1, func(_ *testing.T, th *theatre) {
				th.want("a", "x", "process")
				th.want("a", list, byWorker)
				th.wantStarted(started)
				th.want("a", "x", byWorker)
				th.wantStarted(started)
			})
		})
	}
	bubble(t, 1, 1, func(t *testing.T, th *theatre) {
		th.want("a", "x", "process")
		for range mostCalls + 1 {
			th.want("a", "x", byWorker)
		}
		th.wantStarted(2)
		if th.hands[0].calls != mostCalls {
			t.Errorf("a worker has had %d calls, want %d", th.hands[0].calls, mostCalls)
		}
	})
}

// A call that a worker has not read runs nevertheless, and a command whose workers do not live gets no more.
func TestUntouchedCalls(t *testing.T) {
	t.Parallel()
	bubble(t, 1, 1, func(t *testing.T, th *theatre) {
		th.want("a", "x", "process")
		for range mostFailures + 2 {
			th.want("a", "untouched", "process")
		}
		th.wantStarted(mostFailures)
		if got := th.Stats().Refused; got != 1 {
			t.Errorf("%d commands are refused, want 1", got)
		}
	})
	// Between two answers fewer may end.
	bubble(t, 1, 1, func(t *testing.T, th *theatre) {
		th.want("a", "x", "process")
		for range mostFailures {
			for range mostFailures - 1 {
				th.want("a", "untouched", "process")
			}
			th.want("a", "x", byWorker)
		}
		if got := th.Stats().Refused; got != 0 {
			t.Errorf("%d commands are refused, want none", got)
		}
	})
	bubble(t, 2, 2, func(_ *testing.T, th *theatre) {
		th.want("a", "x", "process")
		th.want("a", "foreign", byWorker)
		th.want("a", "x", "process")
		th.wantStarted(1)
	})
}

// Workers of all commands together are bounded, and those that are used in turn do not end for each other.
func TestTotal(t *testing.T) {
	t.Parallel()
	bubble(t, 1, 2, func(_ *testing.T, th *theatre) {
		for _, name := range []string{"a", "b"} {
			th.want(name, "x", "process")
			th.want(name, "x", byWorker)
		}
		th.want("c", "x", "process")
		th.want("c", "x", "process")
		th.want("b", "x", byWorker)
		th.want("a", "x", byWorker)
		time.Sleep(2 * settledTime)
		th.want("a", "x", byWorker)
		th.want("c", "x", "process")
		th.want("c", "x", byWorker) // in the place of b's, the longest unused
		th.want("a", "x", byWorker)
		th.wantStarted(3)
	})
}

// Workers have the least memory that a command came with. Calls with more get a process, and the memory of idle workers.
func TestMemory(t *testing.T) {
	t.Parallel()
	bubble(t, 1, 4, func(t *testing.T, th *theatre) {
		want := func(memory int64, by string) {
			t.Helper()
			out, err := th.Pool.Run(t.Context(), process.Command{Argv: []string{os.Args[0], "a"}, Worker: true, MemoryLimit: memory, MaxData: memory}, nil)
			if err != nil || string(out.Stdout) != by {
				t.Errorf("a call with %d bytes is answered by %q, error %v, want %q", memory, out.Stdout, err, by)
			}
			synctest.Wait()
		}
		want(2, "process")
		want(2, byWorker)
		want(3, "process")
		if th.alive() != 0 {
			t.Error("a worker keeps its memory beside a call that needs much")
		}
		want(2, byWorker)
		other := process.Command{Argv: []string{os.Args[0], "b"}, MemoryLimit: 2}
		for range 2 {
			if _, err := th.Pool.Run(t.Context(), other, nil); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if alive := th.alive(); alive != int(3-other.MemoryLimit) {
				t.Errorf("beside a call of another command with %d bytes %d workers live", other.MemoryLimit, alive)
			}
			other.MemoryLimit++
		}
		want(2, byWorker)
		want(1, byWorker)
		want(1, byWorker)
		want(2, "process")
		for _, h := range th.hands[3:] {
			if h.command.MemoryLimit != 1 {
				t.Errorf("a worker has %d bytes", h.command.MemoryLimit)
			}
		}
	})
}

// A worker that takes long to start holds up no call for long, and its pool not at all when that ends.
func TestSlowStart(t *testing.T) {
	t.Parallel()
	bubble(t, 2, 2, func(_ *testing.T, th *theatre) {
		th.unready = time.Hour
		for range 3 {
			th.want("a", "x", "process")
		}
		th.wantStarted(1)
	})
	bubble(t, 1, 2, func(_ *testing.T, th *theatre) {
		th.want("a", "x", "process")
		th.unready = patience * 3 / 2
		th.want("a", "spend", byWorker)
		th.want("a", "x", "process")
		th.want("a", "x", byWorker)
		th.noStart = errors.New("no room")
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
	bubble(t, 1, 2, func(t *testing.T, th *theatre) {
		th.want("a", "x", "process")
		th.hands[0].leave()
		synctest.Wait()
		if th.alive() != 0 {
			t.Error("an idle worker stays")
		}
		th.want("a", "x", byWorker)
		var call sync.WaitGroup
		call.Go(func() {
			if got := th.call("a", "x"); got != byWorker {
				t.Errorf("got %q", got)
			}
		})
		time.Sleep(time.Microsecond)
		th.hands[1].leave()
		call.Wait()
		synctest.Wait()
		if th.hands[1].ended.Err() == nil {
			t.Error("a worker stays that should end after its call")
		}
		th.unready = time.Second
		th.want("b", "x", "process")
		th.hands[len(th.hands)-1].leave()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if th.hands[len(th.hands)-1].ended.Err() == nil {
			t.Error("a worker stays that should end as soon as it is ready")
		}
	})
}

// TestPool makes calls of all kinds at once, and holds the pool to its bounds and each call to its one answer.
func TestPool(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(noDeadline{t}, func(rt *rapid.T) {
			perCommand, total := rapid.IntRange(1, 3).Draw(rt, "workers per command"), rapid.IntRange(1, 4).Draw(rt, "workers")
			th := play(t, perCommand, total)
			var calls sync.WaitGroup
			defer func() {
				th.Close()
				calls.Wait()
				if n := th.alive(); n != 0 {
					rt.Errorf("%d workers live after the end", n)
				}
			}()
			names, lists := rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"x", "x", "x", "spend", "wear", "die", "untouched", "hang"})
			rt.Repeat(map[string]func(*rapid.T){
				"call": func(rt *rapid.T) {
					name, list := names.Draw(rt, "command"), lists.Draw(rt, "call")
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					calls.Go(func() {
						defer cancel()
						out, err := th.Pool.Run(ctx, process.Command{Argv: []string{os.Args[0], name}, Worker: true}, []byte(list))
						if (err != nil) != (list == "hang" && string(out.Stdout) != "process") || len(out.Stdout) == 0 {
							rt.Errorf("call %s: got %q, error %v", list, out.Stdout, err)
						}
					})
				},
				"time passes": func(rt *rapid.T) {
					time.Sleep(time.Duration(rapid.IntRange(1, 40_000).Draw(rt, "milliseconds")) * time.Millisecond)
				},
				"sweep": func(*rapid.T) {
					for _, h := range th.hands {
						h.leave()
					}
				},
				"": func(rt *rapid.T) {
					synctest.Wait()
					th.mu.Lock()
					defer th.mu.Unlock()
					perCommandAlive, alive := map[string]int{}, 0
					for _, h := range th.hands {
						if h.ended.Err() == nil {
							perCommandAlive[h.command.Argv[1]]++
							alive++
						}
					}
					for name, n := range perCommandAlive {
						if n > perCommand {
							rt.Errorf("%s has %d workers, may have %d", name, n, perCommand)
						}
					}
					if alive > total || alive != th.size {
						rt.Errorf("there are %d workers, may be %d, counted %d", alive, total, th.size)
					}
				},
			})
		})
	})
}

// noDeadline has no Deadline, which cannot be asked for in a bubble.
type noDeadline struct{ testing.TB }
