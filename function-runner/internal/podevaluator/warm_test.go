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
				t.Errorf("%s: %v, want %v", image, got, want)
			}
		}
		prepare(fn, stateStarting)
		synctest.Wait()
		prepare(fn, stateReady)
		prepare("a b", stateFailed)
		r.images.set(nil, errors.New("no such tag"))
		if got := p.Prepare(t.Context(), "other"); got.GetState() != stateFailed || !strings.Contains(got.GetMessage(), "no such tag") {
			t.Errorf("got %v", got)
		}
		// A registry that is slow is not waited for, however many images there are.
		r.images.set(make(chan struct{}), nil)
		begin := time.Now()
		for i := range 70 {
			prepare(fmt.Sprintf("slow%d", i), stateStarting)
		}
		if waited := time.Since(begin); waited > 5*time.Second {
			t.Errorf("waited for %v", waited)
		}
		if n := r.images.atOnce(); n > 64 {
			t.Errorf("%d images are prepared at once", n)
		}
		p.Close()
		prepare(fn, stateStarting)
	})
}

// Functions are warmed up beside each other, and calls do not wait for that.
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
		// Nobody waits for it before it runs.
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
			t.Errorf("%d functions are warmed up at once, want 3", n)
		}
		r.images.set(nil, nil)
		r.mustCall()
		close(slow)
		// Warm-ups are spread over two seconds, and pods take a moment to be made.
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := len(r.manager.Functions()); n != 4 {
			t.Errorf("%d functions have pods, want 4", n)
		}
		// So are functions that turn up later, each at a moment of its own, so that replicas do not make the same pod.
		w.Want([]string{"r.io/e", "r.io/d"})
		w.Want([]string{"r.io/d"})
		time.Sleep(3 * time.Second)
		synctest.Wait()
		if n := len(r.manager.Functions()); n != 6 {
			t.Errorf("%d functions have pods, want 6", n)
		}
		// The same problem is logged once.
		r.images.set(nil, errors.New("registry down"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if n := strings.Count(log.String(), "registry down"); n != 1 {
			t.Errorf("the problem was logged %d times", n)
		}
		cancel()
		w.Close()
		<-done
	})
}
