// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

const mib = 1 << 20

// deployments returns a ResourceList of Deployments of about the given size in bytes, with at least two items.
func deployments(size int, config string) []byte {
	const item = `- apiVersion: apps/v1
  kind: Deployment
  metadata:
    name: app-%[1]d
    namespace: default
    annotations:
      internal.config.kubernetes.io/path: app-%[1]d.yaml
      internal.config.kubernetes.io/index: '0'
  spec:
    replicas: 3
    selector:
      matchLabels:
        app: app-%[1]d
    template:
      metadata:
        labels:
          app: app-%[1]d
      spec:
        containers:
        - name: main
          image: example.org/app:v1.2.3
          args:
          - --port=8080
          env:
          - name: KEY
            value: some value of a variable
          resources:
            requests:
              cpu: 100m
              memory: 128Mi
`
	var list bytes.Buffer
	list.WriteString("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: " + config + "\nitems:\n")
	for i := 0; i < 2 || list.Len() < size-len(item)-20; i++ {
		fmt.Fprintf(&list, item, i)
	}
	return list.Bytes()
}

// measureProcessMemory measures the peak memory of functions' processes, without a limit and with the GOMEMLIMIT that a function runner
// sets for a list of that size.
func measureProcessMemory(ctx context.Context, r *measure.Run) error {
	executable := filepath.Join(r.Bin, binaries.FunctionsLight)
	for _, f := range function.Memory {
		for _, size := range function.MemorySizes {
			list := deployments(size*mib, f.Config)
			limit := "GOMEMLIMIT=" + strconv.Itoa((64*mib+72*len(list))/10*9)
			var free, limited []float64
			for range min(r.Rounds, 2) {
				for env, values := range map[string]*[]float64{"": &free, limit: &limited} {
					peak, err := peakMemory(ctx, list, env, executable, f.Name)
					if err != nil {
						return fmt.Errorf("%s, %d MiB: %w", f.Name, size, err)
					}
					*values = append(*values, peak)
				}
			}
			r.Add(report.Samples(function.MemoryRow(f.Name, size, false), "MiB", free...), report.Samples(function.MemoryRow(f.Name, size, true), "MiB", limited...))
		}
	}
	return nil
}

// peakMemory runs a program once and returns its peak resident set in MiB.
func peakMemory(ctx context.Context, stdin []byte, env, program string, args ...string) (float64, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Stdout, cmd.Env = bytes.NewReader(stdin), io.Discard, append(os.Environ(), env)
	// A child process inherits the peak resident set of its parent, so this process resets its own peak first.
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		return 0, err
	}
	if err := cmd.Run(); err != nil {
		return 0, err
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return float64(usage.Maxrss) * 1024 / mib, nil
}
