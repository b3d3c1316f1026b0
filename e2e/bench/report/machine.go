// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Machine returns facts about the machine and the time of a run. They contain neither the host name nor paths.
func Machine() ([]Fact, error) {
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return nil, err
	}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return nil, fmt.Errorf("kernel: %w", err)
	}
	return []Fact{
		{"time", time.Now().UTC().Format("2006-01-02 15:04") + " UTC"},
		{"processors", fmt.Sprintf("%d, %s; callers, servers and functions share them", runtime.NumCPU(), processor())},
		{"load average before", strings.Join(strings.Fields(string(load))[:3], " ")},
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
