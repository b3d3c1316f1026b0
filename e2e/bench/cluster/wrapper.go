// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// megabyte is a million bytes.
const megabyte = 1e6

// measureWrapper measures the wrapper server's executable, and its process in a pod that has had calls and has none now.
func (b *bench) measureWrapper(ctx context.Context) (err error) {
	file, err := os.Stat(filepath.Join(b.bin, binaries.WrapperServer))
	if err != nil {
		return err
	}
	_, image, end, err := b.warm(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	pods, err := b.FunctionPods(ctx, image)
	if err != nil {
		return err
	}
	var most float64
	for _, pod := range pods {
		bytes, err := residentOf(ctx, &pod)
		if err != nil {
			return fmt.Errorf("pod %s: %w", pod.Name, err)
		}
		most = max(most, bytes)
	}
	b.add(
		report.Row{What: "wrapper server, executable", Measured: float64(file.Size()) / megabyte, Unit: "MB", Aim: &report.Aim{Bound: 12}},
		report.Row{What: "wrapper server, resident memory idle", Measured: most / megabyte, Unit: "MB", Aim: &report.Aim{Bound: 20}},
	)
	return nil
}

// residentOf returns how many bytes of memory the first process of a pod's container has, its executable's pages included.
func residentOf(ctx context.Context, pod *corev1.Pod) (float64, error) {
	// The node is a container of the same name.
	tasks, err := command.Run(ctx, "docker", "exec", pod.Spec.NodeName, "ctr", "--namespace=k8s.io", "task", "ls")
	if err != nil {
		return 0, err
	}
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	for line := range strings.Lines(tasks) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == id {
			status, err := command.Run(ctx, "docker", "exec", pod.Spec.NodeName, "cat", "/proc/"+fields[1]+"/status")
			if err != nil {
				return 0, err
			}
			return residentIn(status)
		}
	}
	return 0, errors.New("its container has no task on the node")
}
