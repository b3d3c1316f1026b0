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

// Machine tells on what machine a run measures, and when. It names neither the machine nor paths on it.
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

// processor returns what the kernel calls it.
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
