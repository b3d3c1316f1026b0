// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command pause is the first process of every pod: it keeps the pod's namespaces while containers come and go, and reaps
// the processes that they leave behind.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() {
	events := make(chan os.Signal, 1)
	signal.Notify(events, os.Interrupt, syscall.SIGTERM, syscall.SIGCHLD)
	for event := range events {
		if event != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap takes the exit codes of all children that have ended: one signal may stand for several.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
			return
		}
	}
}
