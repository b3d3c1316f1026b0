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
	// deadline is that of each call, and tick the time between two lots of calls.
	deadline = time.Minute
	tick     = time.Millisecond
	// zipf is the exponent of the distribution of calls over functions.
	zipf = 1
	// slow is how long a call takes that has waited for a pod, or for many others.
	slow = 10 * evaluationTime
)

// second has the calls that began in one second.
type second struct {
	// Calls are all, Slow those that took longer than slow, and Failed those that failed, without those that a lost node had begun to run.
	Calls, Slow, Failed int
}

// load is the calls of all clients together: Poisson arrivals, whose functions are Zipf-distributed, at any replica.
type load struct {
	simulation *Simulation
	images     []string
	// cumulated are the weights of the functions, cumulated.
	cumulated []float64
	rate      float64

	mu      sync.Mutex
	begin   time.Time
	seconds []second
	// lost are calls that a lost node had begun to run.
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

// image returns the function of the next call.
func (l *load) image() string {
	i, _ := slices.BinarySearch(l.cumulated, rand.Float64()*l.cumulated[len(l.cumulated)-1])
	return l.images[min(i, len(l.images)-1)]
}

// run makes calls until ctx ends, and returns when all have ended.
func (l *load) run(ctx context.Context) {
	var calls sync.WaitGroup
	defer calls.Wait()
	due, begin := 0.0, time.Now()
	for ctx.Err() == nil {
		time.Sleep(tick)
		// Arrivals are so many that a lot's size, drawn from gaps between calls, is exact.
		for now := time.Since(begin).Seconds(); due < now; due += rand.ExpFloat64() / l.rate {
			image := l.image()
			calls.Go(func() { l.call(image) })
		}
	}
}

// each calls each function once, in random order, evenly over a time.
func (l *load) each(over time.Duration) {
	var calls sync.WaitGroup
	defer calls.Wait()
	pause := over / time.Duration(len(l.images))
	for _, i := range rand.Perm(len(l.images)) {
		calls.Go(func() { l.call(l.images[i]) })
		time.Sleep(pause)
	}
}

// call makes a call at any replica.
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

// total returns all calls that have ended.
func (l *load) total() second {
	l.mu.Lock()
	defer l.mu.Unlock()
	var sum second
	for _, s := range l.seconds {
		sum.Calls, sum.Slow, sum.Failed = sum.Calls+s.Calls, sum.Slow+s.Slow, sum.Failed+s.Failed
	}
	return sum
}
