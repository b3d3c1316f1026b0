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

	"github.com/krmfn/krmfn/internal/wrapperapi"
)

const (
	// quiet is the time without data from a pod with calls after which the watchdog checks the pod's health.
	quiet = time.Second
	// goneAfter is the time without a response after which the watchdog cancels the calls that run in a pod.
	goneAfter = 5 * time.Second
)

// errGone is the cause with which the watchdog cancels calls.
var errGone = errors.New("its wrapper server does not answer any more")

// flight is a call that was sent and has no response yet.
type flight struct {
	cancel context.CancelCauseFunc
	report func(wrapperapi.Load)
	// begun reports that the function may have started.
	begun atomic.Bool
}

// watchdog checks the health of a pod that has calls and sends nothing. It does not check a pod that responds to its calls, or has none.
type watchdog struct {
	e *Endpoint
	// last is the time of the wrapper server's latest response, in nanoseconds since the epoch.
	last atomic.Int64
	// life ends when the endpoint is closed. running counts the calls, and asking counts the watchdog's own health checks.
	life            context.Context //nolint:containedctx // see above
	end             context.CancelFunc
	running, asking sync.WaitGroup

	// mu guards the following fields. No goroutine holds it while it waits.
	mu      sync.Mutex
	flights map[*flight]struct{}
	// timer runs while flights is not empty.
	timer *time.Timer
	// link is nil while the endpoint has no connection. asks is the number of health checks in flight on it.
	link *link
	asks int
	// wake wakes Lost, and is nil while Lost does not wait. loss is the result of Lost until the pod has proved that it serves.
	wake func()
	loss *Loss
	// closed reports that no request may begin.
	closed bool
}

func (w *watchdog) init(ctx context.Context, e *Endpoint) {
	w.e, w.flights = e, map[*flight]struct{}{}
	w.life, w.end = context.WithCancel(context.WithoutCancel(ctx))
}

// close rejects new calls, waits for the running ones and for a health check, and closes the connection.
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

// enter registers a call and returns the connection for it.
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
		// Without calls, the pod had no reason to send anything.
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

// rearm sets the timer. The caller must hold the lock.
func (w *watchdog) rearm(after time.Duration) {
	if w.timer == nil {
		w.timer = time.AfterFunc(after, w.check)
		return
	}
	w.timer.Reset(after)
}

// check checks the health of a silent pod until the pod responds or has no calls.
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
		w.cancelCalls(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.flights) > 0 {
		w.rearm(quiet / 2)
	}
}

// cancelCalls reports the pod as lost and cancels the calls that it has not started, because other pods can run them. After goneAfter,
// cancelCalls also cancels the started calls.
func (w *watchdog) cancelCalls(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.setLoss(&Loss{Reason: err, Certain: true})
	if errors.Is(err, errNotServing) {
		// A draining wrapper server finishes its running calls, and rejects the others itself.
		return
	}
	for f := range w.flights {
		if !f.begun.Load() || w.silence() > goneAfter {
			f.cancel(errGone)
		}
	}
}

// Loss is the reason why a pod must prove again that it serves.
type Loss struct {
	Reason error
	// Certain reports that the pod failed a health check, or answered that it does not serve. Otherwise the pod is only suspect.
	Certain bool
}

func (l *Loss) Error() string { return l.Reason.Error() }

// setLoss makes the current or the next call of Lost return a loss. The caller must hold the lock.
func (w *watchdog) setLoss(loss *Loss) {
	w.loss = loss
	w.notify()
}

// clearLoss clears the loss.
func (w *watchdog) clearLoss() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.loss = nil
}

// Suspect reports that the pod may no longer serve, for example because it rejected a call. Lost then returns until Ready succeeds.
func (e *Endpoint) Suspect(reason error) {
	e.watchdog.mu.Lock()
	defer e.watchdog.mu.Unlock()
	e.watchdog.setLoss(&Loss{Reason: reason})
}

// flightKey is the context key of a request's flight.
type flightKey struct{}

func (f *flight) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, flightKey{}, f)
}

// begins is a stats handler that detects, by the response header, that a call has begun.
type begins struct{}

// HandleRPC marks a call as begun and reports the load from the header.
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

// TagRPC implements stats.Handler.
func (begins) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context { return ctx }

// TagConn implements stats.Handler.
func (begins) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn implements stats.Handler.
func (begins) HandleConn(context.Context, stats.ConnStats) {}
