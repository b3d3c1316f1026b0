// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command function is an entrypoint and a function. As a function, it returns its input and reports its environment on standard error.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/krmfn/krmfn/krmfn/internal/engine/entrypoint"
)

func main() {
	if code, ok := entrypoint.Run(context.Background(), os.Args, os.Stdin, os.Stdout, os.Stderr); ok {
		os.Exit(code)
	}
	input, err := io.ReadAll(os.Stdin)
	if err != nil {
		os.Exit(1)
	}
	_, left := os.Stat("/tmp/left")
	_, streams := os.OpenFile("/proc/1/fd/1", os.O_WRONLY, 0)
	host, _ := os.Hostname()
	fmt.Fprintf(os.Stderr, "user=%d foo=%s arg=%s clean=%v apart=%v host=%s\n",
		os.Getuid(), os.Getenv("FOO"), strings.Join(os.Args[1:], ","), left != nil, streams != nil, host)
	_ = os.WriteFile("/tmp/left", nil, 0o600)
	if strings.Contains(string(input), "hang") {
		time.Sleep(time.Minute)
	}
	if strings.Contains(string(input), "limits") {
		fmt.Fprintf(os.Stderr, "memory=%s capabilities=%s\n", limit(), capabilities())
	}
	if strings.Contains(string(input), "bomb") {
		bomb()
	}
	_, _ = os.Stdout.Write(input)
}

// limit returns the memory limit of the container's cgroup (version 2 or 1).
func limit() string {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if text, err := os.ReadFile(file); err == nil {
			return strings.TrimSpace(string(text))
		}
	}
	return "unknown"
}

// capabilities returns the capability bounding set.
func capabilities() string {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "CapBnd:"); ok {
			return strings.TrimLeft(strings.TrimSpace(value), "0")
		}
	}
	return "unknown"
}

// bomb starts threads, which count as processes, until the runtime cannot create another and exits.
func bomb() {
	var started sync.WaitGroup
	for range 2000 {
		started.Add(1)
		go func() {
			runtime.LockOSThread()
			started.Done()
			select {}
		}()
	}
	started.Wait()
	fmt.Fprintln(os.Stderr, "NOT BOUNDED")
}
