// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/bench/turns"
)

// describe sets the report's title and facts: the machine, the cluster and the length of turns.
func (b *bench) describe(ctx context.Context) error {
	nodes, err := b.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	machine, err := report.Machine()
	if err != nil {
		return err
	}
	info := nodes.Items[0].Status.NodeInfo
	b.Title = "Calls of function pods in a kind cluster, beside bare processes of the same function"
	b.Facts = append(machine,
		report.Fact{Name: "Kubernetes", Value: fmt.Sprintf("%s, nodes: %d, %s", info.KubeletVersion, len(nodes.Items), info.ContainerRuntimeVersion)},
		turns.Fact(b.rounds, b.turn))
	b.Note("Latencies count from when a call was due. Calls go over one connection to a NodePort: this machine, a node, the function runner, the pod.")
	return nil
}

// write writes the report and its plots.
func (b *bench) write() error {
	return b.Write(os.Stdout, b.out, report.Pictures{
		"latency.svg": func(w io.Writer) error {
			return report.WriteLatencies(w, fmt.Sprintf("Calls of a function pod, %d a second", slow), b.latencies)
		},
		"throughput.svg": func(w io.Writer) error {
			return report.WriteThroughputs(w, "Calls of function pods by callers", b.throughputs)
		},
		"coldstart.svg": func(w io.Writer) error { return report.WriteStarts(w, "Cold calls beside raw pods", b.bars) },
	})
}
