// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"runtime"
	"time"
)

// processors is how many there were before any of them was yielded.
var processors = runtime.GOMAXPROCS(0)

// Processors returns how many processors there are for this process and those that it starts.
func Processors() int { return processors }

// YieldProcessors leaves half of the processors to the functions, which do the work. A server that spreads over all of them
// wakes a sleeping one for every step of a call: with two, that is four fifths of what a call takes beyond its function.
// GOMAXPROCS in the environment takes precedence. It is for main functions.
func YieldProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/2, 1))
	}
}

// pace is how calls follow each other. It is for one goroutine at a time.
type pace struct {
	// running is how many calls run, since when one does at least or none does.
	running int
	since   time.Time
	// took is how long the last calls ran, without a moment in which none did.
	took time.Duration
}

// begin notes that a call begins. It tells to hurry where one of the processors is idle, and the call has come sooner after others
// than a process would have become ready.
func (p *pace) begin(processors int) (hurry bool) {
	now := time.Now()
	hurry = p.running == 0 && now.Sub(p.since) < p.took
	if p.running++; p.running == 1 {
		p.since = now
	}
	return hurry && p.running < processors
}

// end notes that a call ends.
func (p *pace) end() {
	if p.running--; p.running == 0 {
		now := time.Now()
		p.since, p.took = now, now.Sub(p.since)
	}
}
