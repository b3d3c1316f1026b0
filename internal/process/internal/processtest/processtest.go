// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package processtest provides helpers for tests that start processes.
package processtest

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// waitLimit ends tests that would hang otherwise.
const waitLimit = 30 * time.Second

// WaitFor waits until done returns true. The test fails if that takes longer than 30 seconds.
func WaitFor(t *testing.T, done func() bool) {
	t.Helper()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	limit := time.After(waitLimit)
	for !done() {
		select {
		case <-poll.C:
		case <-limit:
			t.Errorf("condition not met after %v", waitLimit)
			return
		}
	}
}

// Dead reports whether a process has exited, even if it is a zombie.
func Dead(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || bytes.Contains(stat, []byte(") Z "))
}

// ReadPIDs returns the process IDs in a file, separated by white space.
func ReadPIDs(t *testing.T, file string) []int {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for field := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}

// WaitForEnd waits until the processes whose IDs are in a file are dead. Killed processes disappear only after the system has reaped
// them.
func WaitForEnd(t *testing.T, file string) {
	t.Helper()
	for _, pid := range ReadPIDs(t, file) {
		WaitFor(t, func() bool { return Dead(pid) })
	}
}
