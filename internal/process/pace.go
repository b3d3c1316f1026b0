// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"runtime"
	"time"
)

// processors is the value of GOMAXPROCS at startup, before YieldProcessors.
var processors = runtime.GOMAXPROCS(0)

// Processors returns the number of CPUs that this process and its children can use.
func Processors() int { return processors }

// YieldProcessors halves GOMAXPROCS, to leave CPUs to the functions, which do most of the work. Otherwise the Go scheduler wakes an
// idle thread for each step of a call; on two CPUs, that causes 80% of the overhead of a call. GOMAXPROCS in the environment takes
// precedence. Call it in main functions only.
func YieldProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0)/2, 1))
	}
}

// pace measures the intervals between calls. It is not safe for concurrent use.
type pace struct {
	// running is the number of calls in flight. since is the time when it last became zero or nonzero.
	running int
	since   time.Time
	// lastBusy is the duration of the last period in which calls were in flight.
	lastBusy time.Duration
}

// begin records the start of a call. hurry reports whether the next call is likely to come before its standby process is ready: this
// call came sooner after the previous one than a call takes, and a CPU is idle.
func (p *pace) begin(processors int) (hurry bool) {
	now := time.Now()
	hurry = p.running == 0 && now.Sub(p.since) < p.lastBusy
	if p.running++; p.running == 1 {
		p.since = now
	}
	return hurry && p.running < processors
}

// end records the end of a call.
func (p *pace) end() {
	if p.running--; p.running == 0 {
		now := time.Now()
		p.since, p.lastBusy = now, now.Sub(p.since)
	}
}
