// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podevaluator_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/podevaluator"
	"github.com/krmfn/krmfn/function-runner/internal/podmanager/simulation"
	evaluatorv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluator/v1"
)

const (
	stateReady    = evaluatorv1.PrepareState_PREPARE_STATE_READY
	stateStarting = evaluatorv1.PrepareState_PREPARE_STATE_STARTING
	stateFailed   = evaluatorv1.PrepareState_PREPARE_STATE_FAILED
)

func TestPrepare(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		p := podevaluator.NewWarmer(t.Context(), r.Evaluator, podevaluator.WarmUp{})
		prepare := func(image string, want evaluatorv1.PrepareState) {
			t.Helper()
			if got := p.Prepare(t.Context(), image); got.GetState() != want {
				t.Errorf("Prepare(%s) = %v, want %v", image, got, want)
			}
		}
		prepare(fn, stateStarting)
		synctest.Wait()
		prepare(fn, stateReady)
		prepare("a b", stateFailed)
		r.images.set(nil, errors.New("no such tag"))
		if got := p.Prepare(t.Context(), "other"); got.GetState() != stateFailed || !strings.Contains(got.GetMessage(), "no such tag") {
			t.Errorf("Prepare(other) = %v, want FAILED with the reason", got)
		}
		// Prepare does not wait for a slow registry, however many images there are.
		r.images.set(make(chan struct{}), nil)
		begin := time.Now()
		for i := range 70 {
			prepare(fmt.Sprintf("slow%d", i), stateStarting)
		}
		if waited := time.Since(begin); waited > 5*time.Second {
			t.Errorf("70 calls of Prepare took %v, want at most 5 s", waited)
		}
		if n := r.images.atOnce(); n > 64 {
			t.Errorf("concurrent preparations = %d, want at most 64", n)
		}
		p.Close()
		prepare(fn, stateStarting)
	})
}

// Functions are warmed up concurrently, and calls do not wait for warm-ups.
func TestWarmUp(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, c *simulation.Cluster) {
		r := start(t, c)
		log := &strings.Builder{}
		w := podevaluator.NewWarmer(t.Context(), r.Evaluator, podevaluator.WarmUp{
			Interval: time.Minute, Log: slog.New(slog.NewTextHandler(log, nil)),
			AtStart: func() []string { return []string{"r.io/a", "r.io/b", "r.io/c"} },
			Always:  func() []string { return []string{"r.io/fn:v1"} },
		})
		// Want does not block before Run.
		w.Want([]string{"r.io/c"})
		slow := make(chan struct{})
		r.images.set(slow, nil)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			w.Run(ctx)
		}()
		synctest.Wait()
		if n := r.images.atOnce(); n != 3 {
			t.Errorf("concurrent warm-ups = %d, want 3", n)
		}
		r.images.set(nil, nil)
		r.mustCall()
		close(slow)
		// Warm-ups are spread over two seconds, and creating pods takes a moment.
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := len(r.manager.Functions()); n != 4 {
			t.Errorf("functions with pods = %d, want 4", n)
		}
		// Warm-ups of functions that are added later start after random delays, so that replicas do not create the same pod.
		w.Want([]string{"r.io/e", "r.io/d"})
		w.Want([]string{"r.io/d"})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := len(r.manager.Functions()); n != 6 {
			t.Errorf("functions with pods = %d, want 6", n)
		}
		// The same error is logged once.
		r.images.set(nil, errors.New("registry down"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := strings.Count(log.String(), "registry down"); n != 1 {
			t.Errorf("the error was logged %d times, want once", n)
		}
		cancel()
		w.Close()
		<-done
	})
}
