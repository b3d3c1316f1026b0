// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package scale

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/krmfn/krmfn/function-runner/internal/endpoint"
)

const (
	// deadline is the timeout of each call. tick is the interval at which calls are started.
	deadline = time.Minute
	tick     = time.Millisecond
	// zipf is the exponent of the distribution of calls over functions.
	zipf = 1
	// slow is the duration above which a call counts as slow, because it has waited for a pod or for many other calls.
	slow = 10 * evaluationTime
)

// second counts the calls that began in one second.
type second struct {
	// Calls counts all calls, Slow counts those that took longer than slow, and Failed counts those that failed, except calls that were
	// running on a lost node.
	Calls, Slow, Failed int
}

// load generates the calls of all clients: Poisson arrivals at random replicas, with a Zipf distribution of functions.
type load struct {
	simulation *Simulation
	images     []string
	// cumulated holds the cumulative weights of the functions.
	cumulated []float64
	rate      float64

	mu      sync.Mutex
	begin   time.Time
	seconds []second
	// lost is the number of calls that were running on a lost node.
	lost   int
	errors map[string]int
}

func newLoad(s *Simulation, functions int, rate float64) *load {
	l := &load{simulation: s, rate: rate, begin: time.Now(), errors: map[string]int{}}
	sum := 0.0
	for i := range functions {
		l.images = append(l.images, fmt.Sprintf("registry.example/function-%d:v1", i+1))
		sum += 1 / math.Pow(float64(i+1), zipf)
		l.cumulated = append(l.cumulated, sum)
	}
	return l
}

// image draws the function of a call.
func (l *load) image() string {
	i, _ := slices.BinarySearch(l.cumulated, rand.Float64()*l.cumulated[len(l.cumulated)-1])
	return l.images[min(i, len(l.images)-1)]
}

// run makes calls until ctx ends, and returns when all calls have ended.
func (l *load) run(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	due, begin := 0.0, time.Now()
	for ctx.Err() == nil {
		time.Sleep(tick)
		// At high rates, several calls are due per tick. The number of due calls follows from exponential gaps.
		for now := time.Since(begin).Seconds(); due < now; due += rand.ExpFloat64() / l.rate {
			image := l.image()
			calls.Go(func() { l.call(image) }) //nolint:contextcheck // a call ends at its own deadline
		}
	}
}

// each calls each function once, in random order, at even intervals over a time.
func (l *load) each(over time.Duration) {
	var calls sync.WaitGroup
	defer calls.Wait()
	pause := over / time.Duration(len(l.images))
	for _, i := range rand.Perm(len(l.images)) {
		calls.Go(func() { l.call(l.images[i]) })
		time.Sleep(pause)
	}
}

// call makes a call at a random replica and records the result.
func (l *load) call(image string) {
	begin := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	err := l.simulation.evaluate(ctx, image)
	took := time.Since(begin)
	l.mu.Lock()
	defer l.mu.Unlock()
	i := int(begin.Sub(l.begin) / time.Second)
	for len(l.seconds) <= i {
		l.seconds = append(l.seconds, second{})
	}
	s := &l.seconds[i]
	s.Calls++
	if took > slow {
		s.Slow++
	}
	switch {
	case errors.As(err, new(*endpoint.LostError)):
		l.lost++
	case err != nil:
		s.Failed++
		if len(l.errors) < 20 {
			l.errors[err.Error()]++
		}
	}
}

// total returns the sums over all calls that have ended.
func (l *load) total() second {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum second
	for _, s := range l.seconds {
		sum.Calls, sum.Slow, sum.Failed = sum.Calls+s.Calls, sum.Slow+s.Slow, sum.Failed+s.Failed
	}
	return sum
}
