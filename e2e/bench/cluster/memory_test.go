// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import "testing"

func TestLastCollection(t *testing.T) {
	t.Parallel()
	const log = `{"level":"INFO","msg":"serving","address":"[::]:9445"}
gc 1 @0.014s 2%: 0.014+1.1+0.003 ms clock, 0.028+0.51/0.66/0+0.006 ms cpu, 35->36->33 MB, 36 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 2 @0.052s 3%: 0.034+2.6+0.074 ms clock, 0.069+0.92/2.2/0+0.14 ms cpu, 68->69->41 MB, 69 MB goal, 7 MB stacks, 0 MB globals, 2 P (forced)
{"msg":"gc 3 is not a line of the collector"}
`
	if count, alive := lastCollection(log); count != 2 || alive.heap != 41<<20 || alive.stacks != 7<<20 {
		t.Errorf("lastCollection() = %d, %+v, want 2 collections, 41 MiB of heap and 7 MiB of stacks", count, alive)
	}
	if count, alive := lastCollection("gc"); count != 0 || alive.heap != 0 {
		t.Errorf("lastCollection() without collections = %d, %+v, want 0 and no memory", count, alive)
	}
}

func TestTaskProcesses(t *testing.T) {
	t.Parallel()
	got := taskProcesses("TASK    PID    STATUS    \n0c1d    812    RUNNING\nffee    90    STOPPED\n")
	if got["0c1d"] != "812" || got["ffee"] != "90" || got["aaaa"] != "" {
		t.Errorf("taskProcesses() = %v, want processes 812 and 90", got)
	}
}
