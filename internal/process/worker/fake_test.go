// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/internal/process"
)

// fakePool is a pool of fake workers.
type fakePool struct {
	*Pool
	t     testing.TB
	fakes []*fake
	// unready is the time that workers started from now on take to greet. noStart is the error of their starts.
	unready time.Duration
	noStart error
}

// fake is a worker whose behaviour depends on the list of each call.
type fake struct {
	fakePool *fakePool
	command  process.Command
	unready  time.Duration
	ended    context.Context //nolint:containedctx // it is done when the worker has ended
	stop     context.CancelFunc
	closed   chan struct{}
	calling  atomic.Bool
	calls    int
	wear     bool
	leave    func()
}

func newFakePool(t testing.TB, perCommand, total int) *fakePool {
	th := &fakePool{t: t}
	th.Pool = newPool(th, 100, Options{PerCommand: perCommand, Total: total, Log: slog.New(slog.DiscardHandler)}, th.start)
	return th
}

// Run answers in place of a process for one call.
func (th *fakePool) Run(context.Context, process.Command, []byte) (process.Outcome, error) {
	return process.Outcome{Stdout: []byte("process")}, nil
}

func (th *fakePool) start(c process.Command) (handle, error) {
	th.mu.Lock()
	defer th.mu.Unlock()
	if th.noStart != nil {
		return nil, th.noStart
	}
	h := &fake{fakePool: th, command: c, unready: th.unready, closed: make(chan struct{})}
	h.ended, h.stop = context.WithCancel(context.Background()) // canceled when the worker ends
	context.AfterFunc(h.ended, func() { close(h.closed) })
	th.fakes = append(th.fakes, h)
	return h, nil
}

func (h *fake) greet() error {
	select {
	case <-time.After(h.unready):
		return nil
	case <-h.ended.Done():
		return errors.New("ended")
	}
}

func (h *fake) call(ctx context.Context, list []byte, maxStdout int64) (out process.Outcome, d disposition, err error) {
	if !h.calling.CompareAndSwap(false, true) {
		h.fakePool.t.Error("concurrent calls on one worker")
	}
	defer h.calling.Store(false)
	h.calls++
	if h.ended.Err() != nil {
		return out, notRun, nil
	}
	out.Stdout = fmt.Appendf(nil, "worker, limit %d", maxStdout)
	switch string(list) {
	case "spend":
		d = mustEnd
	case "wear":
		h.wear = true
	case "foreign":
		d = protocolViolation
	case "untouched":
		d = notRun
	case "die":
		h.stop() // the answer is still returned
	case "hang":
		select {
		case <-ctx.Done():
		case <-h.ended.Done():
		}
		return out, mustEnd, &process.KilledError{Cause: context.Cause(ctx)}
	}
	time.Sleep(time.Millisecond)
	return out, d, nil
}

func (h *fake) worn() bool              { return h.wear }
func (h *fake) end()                    { h.stop() }
func (h *fake) gone() <-chan struct{}   { return h.closed }
func (h *fake) expendable(leave func()) { h.leave = leave }

func (th *fakePool) alive() (n int) {
	th.mu.Lock()
	defer th.mu.Unlock()
	for _, h := range th.fakes {
		if h.ended.Err() == nil {
			n++
		}
	}
	return n
}

// call makes a call and returns the output, which names the worker or process that answered the call.
func (th *fakePool) call(name, list string) string {
	out, err := th.Pool.Run(th.t.Context(), process.Command{Argv: []string{os.Args[0], name}, Worker: true}, []byte(list))
	if err != nil {
		return err.Error()
	}
	return string(out.Stdout)
}

const byWorker = "worker, limit 100"

// want makes a call and checks who has answered it. It then waits until the pool's goroutines are idle.
func (th *fakePool) want(name, list, by string) {
	th.t.Helper()
	if got := th.call(name, list); got != by {
		th.t.Errorf("call %q of command %s was answered by %q, want %q", list, name, got, by)
	}
	synctest.Wait()
}

// bubble runs a test with a fake pool in a synctest bubble.
func bubble(t *testing.T, perCommand, total int, test func(t *testing.T, th *fakePool)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		th := newFakePool(t, perCommand, total)
		test(t, th)
		th.Close()
		if n := th.alive(); n != 0 || th.Stats().Workers != 0 {
			t.Errorf("after Close: %d workers alive, stats %+v", n, th.Stats())
		}
		th.want("late", "x", "process")
	})
}

func (th *fakePool) wantStarted(n int64) {
	th.t.Helper()
	if got := th.Stats().Started; got != n {
		th.t.Errorf("%d workers started, want %d", got, n)
	}
}
