// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package bench measures the memory of functions and of function runners. The programs in its subdirectories measure time.
package bench

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
	"github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/evaluator"
)

const mib = 1 << 20

// configs maps the measured functions to their functionConfig.
var configs = map[string]string{
	"set-labels":         "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {tier: backend}}",
	"set-namespace":      "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {namespace: new}}",
	"kubeconform":        "{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {ignore_missing_schemas: 'true'}}",
	"starlark":           "{apiVersion: fn.kpt.dev/v1alpha1, kind: StarlarkRun, metadata: {name: s}, source: 'for r in ctx.resource_list[\"items\"]: r[\"metadata\"][\"namespace\"] = \"new\"'}",
	"apply-replacements": "{apiVersion: fn.kpt.dev/v1alpha1, kind: ApplyReplacements, metadata: {name: r}, replacements: [{source: {kind: Deployment, name: app-1, fieldPath: metadata.name}, targets: [{select: {kind: Deployment}, fieldPaths: [metadata.labels.x], options: {create: true}}]}]}",
}

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

// BenchmarkProcessMemory reports the peak resident memory of a function's process, without a limit and with the GOMEMLIMIT that the
// function runner sets for a list of that size.
func BenchmarkProcessMemory(b *testing.B) {
	dir := b.TempDir()
	if err := binaries.Build(b.Context(), dir, binaries.Functions); err != nil {
		b.Fatal(err)
	}
	for name, config := range configs {
		for _, size := range []int{0, 1, 6, 20} {
			b.Run(fmt.Sprintf("%s/%dMiB", name, size), func(b *testing.B) {
				list := deployments(size*mib, config)
				limit := (64*mib + 72*len(list)) / 10 * 9
				for b.Loop() {
					b.ReportMetric(peak(b, filepath.Join(dir, binaries.Functions), name, list, ""), "peak-MiB")
					b.ReportMetric(peak(b, filepath.Join(dir, binaries.Functions), name, list, fmt.Sprintf("GOMEMLIMIT=%d", limit)), "limited-peak-MiB")
				}
			})
		}
	}
}

// peak runs a function once and returns its peak resident set in MiB.
func peak(b *testing.B, program, function string, list []byte, env string) float64 {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), program, function)
	cmd.Stdin, cmd.Stdout, cmd.Env = bytes.NewReader(list), io.Discard, append(os.Environ(), env)
	// A child process inherits the peak resident set of its parent, so the benchmark resets its own peak first.
	debug.FreeOSMemory()
	if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0o200); err != nil {
		b.Fatal(err)
	}
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	usage, _ := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return float64(usage.Maxrss) / 1024
}

// BenchmarkRunnerMemory reports the memory that a function runner holds per byte of the requests in flight, beyond its idle memory. The
// garbage collector runs all the time, so that the result excludes garbage of earlier calls.
func BenchmarkRunnerMemory(b *testing.B) {
	dir := b.TempDir()
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	defer cancel()
	if err := binaries.Build(ctx, dir, binaries.FunctionRunner); err != nil {
		b.Fatal(err)
	}
	if err := os.Symlink("/bin/cat", filepath.Join(dir, "cat")); err != nil {
		b.Fatal(err)
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("functions:\n- function: cat\n  images: [cat:v1]\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	for _, callers := range []int{1, 4, 8} {
		b.Run(fmt.Sprintf("%d callers of 6MiB", callers), func(b *testing.B) {
			runner, err := server.StartWith(ctx, []string{"GOMEMLIMIT=1MiB"}, filepath.Join(dir, binaries.FunctionRunner), filepath.Join(dir, "log"),
				"--disable-runtimes=pod", "--config="+config, "--functions="+dir, "--max-bytes-in-flight=1000000000", "--max-concurrent-evaluations=100")
			if err != nil {
				b.Fatal(err)
			}
			conn, err := grpc.NewClient(runner.Addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
				grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(64*mib)))
			if err != nil {
				b.Fatal(err)
			}
			client := evaluatorgrpc.NewFunctionEvaluatorClient(conn)
			list := deployments(6*mib-1000, configs["set-labels"])
			idle := residentPeak(b, runner.PID())
			for b.Loop() {
				var calls sync.WaitGroup
				for range callers {
					calls.Go(func() {
						if _, err := client.EvaluateFunction(ctx, &evaluator.EvaluateFunctionRequest{Image: "cat:v1", ResourceList: list}); err != nil {
							b.Error(err)
						}
					})
				}
				calls.Wait()
			}
			b.ReportMetric((residentPeak(b, runner.PID())-idle)*mib/float64(callers*len(list)), "held-per-byte")
			_ = conn.Close()
			if err := runner.Stop(); err != nil {
				b.Error(err)
			}
		})
	}
}

// residentPeak returns the peak resident set of a process, in MiB.
func residentPeak(b *testing.B, pid int) float64 {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	var kib float64
	if _, err := fmt.Sscan(rest, &kib); err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}
