// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Machine returns facts about the machine, without its name.
func Machine() ([]Fact, error) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil, fmt.Errorf("kernel: %w", err)
	}
	return []Fact{
		{"processors", fmt.Sprintf("%d, %s", runtime.NumCPU(), processor())},
		{"kernel", unix.ByteSliceToString(name.Release[:]) + " " + runtime.GOARCH},
		{"Go", runtime.Version()},
	}, nil
}

// processor returns the model name that the kernel reports, or the architecture.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// Load returns the load average over the last minute.
func Load() (load float64, err error) {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0, err
	}
	_, err = fmt.Sscan(string(text), &load)
	return load, err
}

// Quiet describes whether a machine was quiet before a run.
type Quiet struct {
	Load   float64
	Waited time.Duration
	Quiet  bool
}

// AwaitQuiet waits until the load is at most the limit, or until it has waited for the given time.
func AwaitQuiet(ctx context.Context, limit float64, patience time.Duration, load func() (float64, error)) (q Quiet, err error) {
	begin := time.Now()
	for {
		if q.Load, err = load(); err != nil {
			return q, err
		}
		q.Waited, q.Quiet = time.Since(begin).Round(time.Second), q.Load <= limit
		if q.Quiet || q.Waited >= patience {
			return q, nil
		}
		select {
		case <-ctx.Done():
			return q, context.Cause(ctx)
		case <-time.After(5 * time.Second):
		}
	}
}

// Fact returns the load average before the run, and whether the machine was quiet.
func (q Quiet) Fact() Fact {
	text := fmt.Sprintf("%.2f", q.Load)
	if !q.Quiet {
		text += fmt.Sprintf(": **the machine was not quiet**, although the run waited for %v", q.Waited)
	}
	return Fact{"load average before", text}
}
