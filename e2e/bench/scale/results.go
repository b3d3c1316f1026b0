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

// results are what the simulation writes.
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

// Sizes are the results without events, Events those with one.
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

// PerPod is the number of requests that creating a pod has taken, over the whole simulation.
func (r result) PerPod() string {
	created, all := 0, 0
	for _, p := range []phase{r.First, r.Before, r.After} {
		created += p.Requests.Created
		all += p.Requests.Created + p.Requests.Collisions + p.Requests.Get
	}
	return fmt.Sprintf("%.2f", float64(all)/float64(max(1, created)))
}

// Extra is how many more pods there were than one replica needs, in percent.
func (r result) Extra() string {
	return fmt.Sprintf("%+.0f %%", 100*(float64(r.Pods)/float64(r.Ideal)-1))
}

// Cold is the share of calls that waited for a pod or for many other calls, before the event and in the minute of the first calls.
func (r result) ColdFirst() string  { return percent(r.First.Slow, r.First.Calls) }
func (r result) ColdSteady() string { return percent(r.Before.Slow, r.Before.Calls) }
func (r result) ColdAfter() string  { return percent(r.After.Slow, r.After.Calls) }

func percent(part, whole int) string {
	return strconv.FormatFloat(100*float64(part)/float64(max(1, whole)), 'f', 2, 64) + " %"
}

// Steady is the number of requests to the API server per second before the event.
func (r result) Steady() string { return rate(r.Before) }

// AfterRate is the number of requests to the API server per second from the event on.
func (r result) AfterRate() string { return rate(r.After) }

func rate(p phase) string {
	q := p.Requests
	return fmt.Sprintf("%.1f", float64(q.Created+q.Collisions+q.Get+q.Delete+q.Patch+q.ListWatch)/p.Duration.Seconds())
}

// Most is the largest number of requests in a second from the event on.
func (r result) Most() int {
	most := 0
	for i := r.At; i < len(r.Requests); i++ {
		most = max(most, r.Requests[i])
	}
	return most
}

// Failed is the number of calls that failed, without those that a lost node had begun to run.
func (r result) Failed() int { return r.First.Failed + r.Before.Failed + r.After.Failed }

// Calls is the number of calls.
func (r result) Calls() int { return r.First.Calls + r.Before.Calls + r.After.Calls }

// MB is the heap of a replica in megabytes.
func (r result) MB() string { return fmt.Sprintf("%.1f", r.Memory/1e6) }

// largest are the events of the largest size that has them.
func (r results) largest() (found results) {
	most := 0
	for _, result := range r.Events() {
		most = max(most, result.Size.Replicas)
	}
	return r.Events().only(func(r result) bool { return r.Size.Replicas == most })
}

// line returns values from 10 seconds before an event on.
func (r result) line(value func(second int) float64) report.Series {
	const before, after = 10, 120
	line := report.Series{Name: r.Event}
	for i := r.At - before; i < min(r.Until+after, len(r.Seconds)); i++ {
		line.X, line.Y = append(line.X, float64(i-r.At)), append(line.Y, value(i))
	}
	return line
}

func (r results) drawRequests(w io.Writer) error {
	var lines []report.Series
	for _, result := range r.largest() {
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
	var lines []report.Series
	for _, result := range r.largest() {
		lines = append(lines, result.line(func(i int) float64 {
			return 100 * float64(result.Seconds[i].Slow) / float64(max(1, result.Seconds[i].Calls))
		}))
	}
	return report.WriteSeries(w, "Calls that waited", "Seconds since the event began", "Calls of more than 200 ms (%)", lines)
}
