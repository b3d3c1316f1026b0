// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/stats"

	"github.com/krmfn/krmfn/services/evaluation/wrapperapi"
)

const (
	// quiet is how long a pod with calls may say nothing before it is asked whether it still serves.
	quiet = time.Second
	// goneAfter is how long it may not answer before the calls that it has begun with are given up.
	goneAfter = 5 * time.Second
)

// errGone is why calls are given up.
var errGone = errors.New("its wrapper server does not answer any more")

// flight is a call on its way.
type flight struct {
	cancel context.CancelCauseFunc
	report func(wrapperapi.Load)
	// begun says that the function may have run.
	begun atomic.Bool
}

// watchdog asks a pod with calls that says nothing whether it is still there. A pod that answers its calls is never asked, nor
// is one without calls.
type watchdog struct {
	e *Endpoint
	// last is when the wrapper server last answered anything, in nanoseconds since the epoch.
	last atomic.Int64
	// life ends with the endpoint; running has the calls, and asking the question under way.
	life            context.Context //nolint:containedctx // see above
	end             context.CancelFunc
	running, asking sync.WaitGroup

	// mu guards what follows. Nothing is waited for while it is held.
	mu      sync.Mutex
	flights map[*flight]struct{}
	// timer is set while there are flights.
	timer *time.Timer
	// link is nil while there is no connection. asks is how many questions are under way on it.
	link *link
	asks int
	// wake has Lost look again; nil while it does not wait. loss is what it has to tell, until the pod has shown that it serves.
	wake func()
	loss *Loss
	// closed says that no call and no question may begin.
	closed bool
}

func (w *watchdog) init(ctx context.Context, e *Endpoint) {
	w.e, w.flights = e, map[*flight]struct{}{}
	w.life, w.end = context.WithCancel(context.WithoutCancel(ctx))
}

// close has no more calls begin, waits for those that run and for the question under way, and closes the connection.
func (w *watchdog) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.running.Wait()
	w.end()
	w.asking.Wait()
	w.mu.Lock()
	l := w.link
	w.link = nil
	w.mu.Unlock()
	if l == nil {
		return nil
	}
	return l.conn.Close()
}

func (w *watchdog) heard() { w.last.Store(time.Now().UnixNano()) }

func (w *watchdog) silence() time.Duration { return time.Since(time.Unix(0, w.last.Load())) }

// enter begins a call and returns the connection for it.
func (w *watchdog) enter(f *flight) (*link, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, err := w.connection()
	if err != nil {
		return nil, err
	}
	w.running.Add(1)
	w.flights[f] = struct{}{}
	if len(w.flights) == 1 {
		// It may have been quiet for lack of calls.
		w.heard()
		w.rearm(quiet)
	}
	return l, nil
}

func (w *watchdog) leave(f *flight) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.flights, f)
	if len(w.flights) == 0 {
		w.timer.Stop()
	}
	w.running.Done()
}

// rearm sets the timer. The lock is held.
func (w *watchdog) rearm(after time.Duration) {
	if w.timer == nil {
		w.timer = time.AfterFunc(after, w.check)
		return
	}
	w.timer.Reset(after)
}

// check asks a pod that says nothing, until it answers or has no calls any more.
func (w *watchdog) check() {
	w.mu.Lock()
	if len(w.flights) == 0 {
		w.mu.Unlock()
		return
	}
	if left := quiet - w.silence(); left > 0 {
		w.rearm(left)
		w.mu.Unlock()
		return
	}
	w.asking.Add(1)
	w.mu.Unlock()
	defer w.asking.Done()
	if err := w.e.ask(w.life); err != nil {
		w.giveUp(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.flights) > 0 {
		w.rearm(quiet / 2)
	}
}

// giveUp has the pod take no calls, and ends those that it has not begun with, which other pods may run. Where it has been
// silent for long, it ends the others, too: their callers must not wait for ever.
func (w *watchdog) giveUp(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(&Loss{Reason: err, Certain: true})
	if errors.Is(err, errNotServing) {
		// It finishes what it runs, and refuses the others itself.
		return
	}
	for f := range w.flights {
		if !f.begun.Load() || w.silence() > goneAfter {
			f.cancel(errGone)
		}
	}
}

// Loss is why a pod must show anew that it serves.
type Loss struct {
	Reason error
	// Certain says that it has been asked and did not answer, or said that it does not serve. Otherwise it may be well.
	Certain bool
}

func (l *Loss) Error() string { return l.Reason.Error() }

// tell ends Lost, or the next one. The lock is held.
func (w *watchdog) tell(loss *Loss) {
	w.loss = loss
	w.tellNews()
}

// forgive forgets a loss.
func (w *watchdog) forgive() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loss = nil
}

// Suspect says that the pod did not take a call, or may be gone for another reason: it has to show anew that it serves.
func (e *Endpoint) Suspect(reason error) {
	e.watchdog.mu.Lock()
	defer e.watchdog.mu.Unlock()
	e.watchdog.tell(&Loss{Reason: reason})
}

// flightKey has the flight in the context of a request.
type flightKey struct{}

func (f *flight) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, flightKey{}, f)
}

// begins sees the headers of answers as they come: a call whose function has begun is known before it ends.
type begins struct{}

// HandleRPC notes that a call has begun.
func (begins) HandleRPC(ctx context.Context, s stats.RPCStats) {
	header, ok := s.(*stats.InHeader)
	if !ok {
		return
	}
	f, ok := ctx.Value(flightKey{}).(*flight)
	if !ok || !wrapperapi.HasBegun(header.Header) {
		return
	}
	f.begun.Store(true)
	if load, ok := wrapperapi.LoadOf(header.Header); ok {
		f.report(load)
	}
}

// TagRPC does nothing.
func (begins) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn does nothing.
func (begins) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn does nothing.
func (begins) HandleConn(context.Context, stats.ConnStats) {}
