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
	// quiet is how long a pod with calls may send nothing before its health is checked.
	quiet = time.Second
	// goneAfter is how long it may not answer before the calls that it runs are given up.
	goneAfter = 5 * time.Second
)

// errGone is the cause of calls that are given up.
var errGone = errors.New("its wrapper server does not answer any more")

// flight is a call that was sent and not answered yet.
type flight struct {
	cancel context.CancelCauseFunc
	report func(wrapperapi.Load)
	// begun says that the function may have run.
	begun atomic.Bool
}

// watchdog checks the health of a pod that has calls and sends nothing. It does not check a pod that answers its calls, or has none.
type watchdog struct {
	e *Endpoint
	// last is when the wrapper server last answered a request, in nanoseconds since the epoch.
	last atomic.Int64
	// life ends with the endpoint. running are the calls, and asking is the health check of the watchdog.
	life            context.Context //nolint:containedctx // see above
	end             context.CancelFunc
	running, asking sync.WaitGroup

	// mu guards what follows. It is not held while anything is waited for.
	mu      sync.Mutex
	flights map[*flight]struct{}
	// timer is set while there are flights.
	timer *time.Timer
	// link is nil while there is no connection. asks is the number of health checks on it.
	link *link
	asks int
	// wake wakes Lost; nil while Lost does not wait. loss is what Lost returns, until the pod has shown that it serves.
	wake func()
	loss *Loss
	// closed says that no request may begin.
	closed bool
}

func (w *watchdog) init(ctx context.Context, e *Endpoint) {
	w.e, w.flights = e, map[*flight]struct{}{}
	w.life, w.end = context.WithCancel(context.WithoutCancel(ctx))
}

// close rejects further calls, waits for the running ones and for a health check, and closes the connection.
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

// check checks the health of a pod that sends nothing, until it answers or has no calls any more.
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

// giveUp reports the pod as lost, and ends the calls that it has not begun, which other pods can run. After goneAfter, it ends the others,
// too, because their callers must not wait without end.
func (w *watchdog) giveUp(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell(&Loss{Reason: err, Certain: true})
	if errors.Is(err, errNotServing) {
		// It finishes its running calls, and rejects the others itself.
		return
	}
	for f := range w.flights {
		if !f.begun.Load() || w.silence() > goneAfter {
			f.cancel(errGone)
		}
	}
}

// Loss is why a pod must show again that it serves.
type Loss struct {
	Reason error
	// Certain says that it did not answer a health check, or answered that it does not serve. Otherwise it may serve.
	Certain bool
}

func (l *Loss) Error() string { return l.Reason.Error() }

// tell makes Lost return a loss, now or at its next call. The lock is held.
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

// Suspect says that the pod may not serve any more, for example because it rejected a call: it must show that it does.
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

// begins handles the headers of answers as they come, which tell that a call has begun.
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
