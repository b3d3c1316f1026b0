// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/krmfn/krmfn/e2e/bench/report"
)

// results is the output of the simulation.
type results []result

type result struct {
	Size struct {
		Replicas, Functions, MaxPods int
		Rate                         float64
	}
	Event                string
	First, Before, After phase
	Calm, Pods, Ideal    int
	Lost                 int
	Memory               float64
	Seconds              []struct{ Calls, Slow, Failed int }
	Requests             []int
	At, Until            int
}

type phase struct {
	Duration            time.Duration
	Requests            struct{ Created, Collisions, Get, Delete, Patch, ListWatch int }
	Pods                int
	Calls, Slow, Failed int
}

const none = "none"

// Sizes returns the results of simulations without an event, and Events returns the results of simulations with an event.
func (r results) Sizes() results  { return r.only(func(r result) bool { return r.Event == none }) }
func (r results) Events() results { return r.only(func(r result) bool { return r.Event != none }) }

func (r results) only(wanted func(result) bool) (found results) {
	for _, result := range r {
		if wanted(result) {
			found = append(found, result)
		}
	}
	return found
}

// PerPod returns the average number of requests to the API server for creating a pod, over the whole simulation.
func (r result) PerPod() string {
	created, all := 0, 0
	for _, p := range []phase{r.First, r.Before, r.After} {
		created += p.Requests.Created
		all += p.Requests.Created + p.Requests.Collisions + p.Requests.Get
	}
	return fmt.Sprintf("%.2f", float64(all)/float64(max(1, created)))
}

// Extra returns the percentage of pods beyond the number that a single replica needs.
func (r result) Extra() string {
	return fmt.Sprintf("%+.0f %%", 100*(float64(r.Pods)/float64(r.Ideal)-1))
}

// ColdFirst, ColdSteady and ColdAfter return the share of slow calls (calls that waited for a pod or for other calls) in the first phase,
// before the event, and from the event on.
func (r result) ColdFirst() string  { return percent(r.First.Slow, r.First.Calls) }
func (r result) ColdSteady() string { return percent(r.Before.Slow, r.Before.Calls) }
func (r result) ColdAfter() string  { return percent(r.After.Slow, r.After.Calls) }

func percent(part, whole int) string {
	return strconv.FormatFloat(100*float64(part)/float64(max(1, whole)), 'f', 2, 64) + " %"
}

// Steady returns the number of requests to the API server per second before the event.
func (r result) Steady() string { return rate(r.Before) }

// AfterRate returns the number of requests to the API server per second from the event on.
func (r result) AfterRate() string { return rate(r.After) }

func rate(p phase) string {
	q := p.Requests
	return fmt.Sprintf("%.1f", float64(q.Created+q.Collisions+q.Get+q.Delete+q.Patch+q.ListWatch)/p.Duration.Seconds())
}

// Most returns the peak number of requests to the API server in one second from the event on.
func (r result) Most() int {
	most := 0
	for i := r.At; i < len(r.Requests); i++ {
		most = max(most, r.Requests[i])
	}
	return most
}

// Failed returns the number of calls that failed, without calls that were running on a lost node.
func (r result) Failed() int { return r.First.Failed + r.Before.Failed + r.After.Failed }

// Calls returns the number of calls.
func (r result) Calls() int { return r.First.Calls + r.Before.Calls + r.After.Calls }

// MB returns the heap of a replica in megabytes.
func (r result) MB() string { return fmt.Sprintf("%.1f", r.Memory/1e6) }

// largest returns the results with an event that have the largest number of replicas.
func (r results) largest() (found results) {
	most := 0
	for _, result := range r.Events() {
		most = max(most, result.Size.Replicas)
	}
	return r.Events().only(func(r result) bool { return r.Size.Replicas == most })
}

// line returns the values of each second, from 10 seconds before the event to 120 seconds after its end.
func (r result) line(value func(second int) float64) report.Series {
	const before, after = 10, 120
	line := report.Series{Name: r.Event}
	for i := max(0, r.At-before); i < min(r.Until+after, len(r.Seconds)); i++ {
		line.X, line.Y = append(line.X, float64(i-r.At)), append(line.Y, value(i))
	}
	return line
}

func (r results) drawRequests(w io.Writer) error {
	largest := r.largest()
	lines := make([]report.Series, 0, len(largest))
	for _, result := range largest {
		lines = append(lines, result.line(func(i int) float64 {
			if i < len(result.Requests) {
				return float64(result.Requests[i])
			}
			return 0
		}))
	}
	return report.WriteSeries(w, "Requests to the API server", "Seconds since the event began", "Requests per second, all replicas", lines)
}

func (r results) drawCalls(w io.Writer) error {
	largest := r.largest()
	lines := make([]report.Series, 0, len(largest))
	for _, result := range largest {
		lines = append(lines, result.line(func(i int) float64 {
			return 100 * float64(result.Seconds[i].Slow) / float64(max(1, result.Seconds[i].Calls))
		}))
	}
	return report.WriteSeries(w, "Calls that waited", "Seconds since the event began", "Calls of more than 200 ms (%)", lines)
}
