// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/bench/report"
)

// describe tells what is measured, and on which machine.
func (b *bench) describe(ctx context.Context) error {
	nodes, err := b.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return err
	}
	info := nodes.Items[0].Status.NodeInfo
	b.report.Title = fmt.Sprintf("The function runner on kind: %s of %d resources, %d bytes", name, resources, len(b.function.list))
	b.report.Facts = []report.Fact{
		{Name: "time", Value: time.Now().UTC().Format(time.DateTime) + " UTC"},
		{Name: "processors", Value: fmt.Sprintf("%d, %s; load, nodes and all processes share them", runtime.NumCPU(), processor())},
		{Name: "load average before", Value: strings.Join(strings.Fields(string(load))[:3], " ")},
		{Name: "kernel", Value: info.KernelVersion + " " + runtime.GOARCH},
		{Name: "Kubernetes", Value: info.KubeletVersion + ", " + counted(len(nodes.Items), "node") + ", " + info.ContainerRuntimeVersion},
		{Name: "turns", Value: fmt.Sprintf("%d of %v at constant rates, of %v for throughput", b.rounds, b.turn, b.turn/2)},
	}
	b.note("RATIO and BEYOND compare with LIMIT: a bare process of the same executable on the same input, in turns with it, unless something else is said.")
	b.note("Where a call took less than the bare process, something else disturbed the run, and REACHED says that it is unclear.")
	b.note("Latencies count from when a call was due. Calls go over one connection to a NodePort: this machine, a node, the function runner, the pod.")
	return nil
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

// write writes the report to files, and the text to the standard output, too.
func (b *bench) write() error {
	if err := os.MkdirAll(b.out, 0o755); err != nil {
		return err
	}
	for file, content := range map[string]func(io.Writer) error{
		"report.txt": b.report.WriteText,
		"latency.svg": func(w io.Writer) error {
			return report.WriteLatencies(w, "Warm calls beside bare processes", b.latencies)
		},
		"coldstart.svg": func(w io.Writer) error { return report.WriteStarts(w, "Cold calls beside raw pods", b.bars) },
	} {
		var text bytes.Buffer
		if err := content(&text); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
		if err := os.WriteFile(filepath.Join(b.out, file), text.Bytes(), 0o644); err != nil {
			return err
		}
	}
	fmt.Println()
	return b.report.WriteText(os.Stdout)
}
