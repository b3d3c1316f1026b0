// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command cluster measures calls of function pods in the cluster for end-to-end tests, and memory.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/programs/progress"
)

var (
	starts = pflag.Int("starts", 10, "number of cold calls for each way to inject the wrapper server")
	pools  = pflag.Int("pools", 1000, "number of idle pools to measure the function runner's memory with")
)

func main() { measure.Main(context.Background(), "Calls of function pods in a kind cluster", run) }

// bench is the state of one run.
type bench struct {
	*measure.Run
	*install.Installation
	function *images
	warm     warm
	// pod is a function pod of the standby kind, as the function runner created it.
	pod *corev1.Pod
}

func run(ctx context.Context, r *measure.Run) (err error) {
	installation, err := install.Open(ctx, progress.New(os.Stdout).Step)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "krmfn-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	b := &bench{Run: r, Installation: installation}
	if b.function, err = newImages(r.Bin, b.Registry); err != nil {
		return err
	}
	nodes, err := b.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	info := nodes.Items[0].Status.NodeInfo
	b.Facts = append(b.Facts, report.Fact{Name: "Kubernetes", Value: fmt.Sprintf("%s, %d nodes of kind, %s", info.KubeletVersion, len(nodes.Items), info.ContainerRuntimeVersion)})
	defer func() { err = errors.Join(err, b.Remove(context.WithoutCancel(ctx))) }()
	return b.measureAll(ctx, dir)
}

func (b *bench) measureAll(ctx context.Context, dir string) (err error) {
	if err := b.makeWarm(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.warm.client.Close()) }()
	if err := b.AwaitQuiet(ctx); err != nil {
		return err
	}
	if err := (measure.Target{Run: b.Run, Evaluator: "pod", Bare: b.function.bare, Call: b.call}).Measure(ctx); err != nil {
		return err
	}
	if err := b.Part(ctx, "pod, where the time of a call goes", b.measureTimings); err != nil {
		return err
	}
	if err := b.Part(ctx, "memory of idle pools", func(ctx context.Context) error { return b.measurePools(ctx, dir) }); err != nil {
		return err
	}
	// The pods of the function were idle during the previous part.
	if err := b.Part(ctx, "memory of the wrapper server", b.measureWrapper); err != nil {
		return err
	}
	return b.Part(ctx, "cold calls", b.measureStarts)
}

// apply installs the function runner with one replica and without debug logs.
func (b *bench) apply(ctx context.Context, injection string) error {
	return b.Apply(ctx, map[string]any{
		"logLevel": 2, "pods": map[string]any{"wrapperInjection": injection}, "extraArgs": []any{"--disable-runtimes=exec", function.CacheFlag},
	})
}

func milliseconds[T ~int64](nanoseconds T) float64 { return float64(nanoseconds) / 1e6 }
