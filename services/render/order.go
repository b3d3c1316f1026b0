// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"sync"
)

type emitter func(Event)

// inOrder calls do for n independent tasks, in parallel if Options.Parallel allows, with the result of sequential calls: it
// returns the outcomes up to the first one with an error. Events are emitted in task order; events of the first unfinished task
// are emitted immediately.
//
// When a task fails, later tasks are cancelled. Earlier ones continue, because they may fail too, and inOrder returns the first error.
func (h *hydration) inOrder(ctx context.Context, n int, emit emitter, do func(context.Context, int, emitter) outcome) []outcome {
	if n == 1 || cap(h.slots) == 1 {
		return oneByOne(ctx, n, emit, do)
	}
	outcomes := make([]outcome, n)
	sequence := &eventOrder{emit: emit, pending: make([][]Event, n), done: make([]bool, n)}
	contexts, cancels := make([]context.Context, n), make([]context.CancelFunc, n)
	for i := range n {
		contexts[i], cancels[i] = context.WithCancel(ctx) //nolint:fatcontext // siblings, each from the same parent
		defer cancels[i]()
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { //nolint:contextcheck // contexts[i] is a child of ctx
			outcomes[i] = do(contexts[i], i, func(e Event) { sequence.add(i, e) })
			if outcomes[i].err == nil {
				sequence.taskDone(i)
				return
			}
			for _, cancel := range cancels[i+1:] {
				cancel()
			}
		})
	}
	wg.Wait()
	for i := range outcomes {
		if outcomes[i].err != nil {
			return outcomes[:i+1]
		}
	}
	return outcomes
}

func oneByOne(ctx context.Context, n int, emit emitter, do func(context.Context, int, emitter) outcome) []outcome {
	var outcomes []outcome
	for i := range n {
		o := do(ctx, i, emit)
		outcomes = append(outcomes, o)
		if o.err != nil {
			break
		}
	}
	return outcomes
}

// eventOrder orders the events of concurrent tasks by task. It drops the events of all tasks after one that does not succeed.
type eventOrder struct {
	mu   sync.Mutex
	emit emitter
	// front is the first task that has not succeeded. Its events are emitted immediately.
	front   int
	pending [][]Event
	done    []bool
}

func (s *eventOrder) add(i int, e Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i == s.front {
		s.emit(e)
		return
	}
	s.pending[i] = append(s.pending[i], e)
}

// taskDone records that a task has succeeded.
func (s *eventOrder) taskDone(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done[i] = true
	for s.front < len(s.done) && s.done[s.front] {
		s.front++
		if s.front < len(s.done) {
			for _, e := range s.pending[s.front] {
				s.emit(e)
			}
			s.pending[s.front] = nil
		}
	}
}
