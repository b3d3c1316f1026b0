// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// reapEvery is the least time between two sweeps. Every call ends with a SIGCHLD of its own, and a sweep reads /proc.
const reapEvery = time.Second

// Reap makes this process the parent of whatever its functions leave behind, and until ctx ends collects them: zombies are
// waited for, and a process that left its group to outlive the call it came from is killed. Without it they would pile up
// in a container, where this process has number 1. It needs /proc, and returns an error without it.
//
// At most one Reap may run in a process, and all children must be started by r.
func (r *Runner) Reap(ctx context.Context) error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become the reaper of orphaned processes: %w", err)
	}
	exits := make(chan os.Signal, 1)
	signal.Notify(exits, syscall.SIGCHLD)
	defer signal.Stop(exits)
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-exits:
		}
		pause.Reset(reapEvery)
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
		if err := r.sweep(); err != nil {
			return err
		}
	}
}

// sweep goes over our children once.
func (r *Runner) sweep() error {
	for _, pid := range r.ledger.orphans(children) {
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil && !errors.Is(err, unix.ECHILD) {
			return fmt.Errorf("wait for orphaned process %d: %w", pid, err)
		}
		if mark := markOf(pid); mark != "" && r.ledger.over(mark) {
			// It ends as a zombie of ours, and the next sweep collects it.
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return nil
}

// children lists the processes whose parent is this one, on whichever of its threads.
func children() []int {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		return nil
	}
	var pids []int
	for _, list := range lists {
		// A thread may have ended since it was listed.
		text, err := os.ReadFile(list)
		if err != nil {
			continue
		}
		for field := range bytes.FieldsSeq(text) {
			if pid, err := strconv.Atoi(string(field)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// markOf returns the mark of the run that a process belongs to, or "" when it has none or cannot be looked into.
func markOf(pid int) string {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(environ, []byte{0}) {
		if mark, ok := strings.CutPrefix(string(kv), runVariable+"="); ok {
			return mark
		}
	}
	return ""
}

// waitUnreaped blocks until the process has ended and leaves it a zombie, so that its number stays taken.
func waitUnreaped(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
