// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/measure"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// megabyte is 1,000,000 bytes.
const megabyte = 1e6

// measureWrapper measures the size of the wrapper server's executable and its resident memory in pods that have served calls and are now
// idle.
func (b *bench) measureWrapper(ctx context.Context) error {
	file, err := os.Stat(filepath.Join(b.Bin, binaries.WrapperServer))
	if err != nil {
		return err
	}
	pods, err := b.FunctionPods(ctx, b.warm.images[function.Standby])
	if err != nil {
		return err
	}
	var resident []float64
	for _, pod := range pods {
		bytes, err := residentOf(ctx, &pod)
		if err != nil {
			return fmt.Errorf("pod %s: %w", pod.Name, err)
		}
		resident = append(resident, bytes/megabyte)
	}
	b.Add(report.Samples("wrapper server, executable", "MB", float64(file.Size())/megabyte), report.Samples("wrapper server, resident memory idle", "MB", resident...))
	return nil
}

// residentOf returns the resident memory, in bytes, of the first process in a pod's container, including the pages of its executable.
func residentOf(ctx context.Context, pod *corev1.Pod) (float64, error) {
	in := containerOf(pod)
	tasks, err := command.Run(ctx, "docker", "exec", in.node, "ctr", "--namespace=k8s.io", "task", "ls")
	if err != nil {
		return 0, err
	}
	process, ok := taskProcesses(tasks)[in.id]
	if !ok {
		return 0, errors.New("its container has no task on the node")
	}
	status, err := command.Run(ctx, "docker", "exec", in.node, "cat", "/proc/"+process+"/status")
	if err != nil {
		return 0, err
	}
	return measure.MemoryIn(status, "VmRSS")
}

// container identifies a container on a node. The node itself is a container on this machine.
type container struct{ node, id string }

// containerOf returns the first container of a pod.
func containerOf(pod *corev1.Pod) container {
	_, id, _ := strings.Cut(pod.Status.ContainerStatuses[0].ContainerID, "://")
	return container{pod.Spec.NodeName, id}
}

// taskProcesses parses the output of "ctr task ls" and returns the ID of the first process of each container.
func taskProcesses(list string) map[string]string {
	processes := make(map[string]string)
	for line := range strings.Lines(list) {
		if fields := strings.Fields(line); len(fields) > 1 {
			processes[fields[0]] = fields[1]
		}
	}
	return processes
}

// collection matches a line that the Go runtime logs with GODEBUG=gctrace=1. The first group is the live heap, which is the third of the
// three heap sizes; the second group is the size of the stacks.
var collection = regexp.MustCompile(`(?m)^gc \d+ @.* \d+->\d+->(\d+) MB, \d+ MB goal, (\d+) MB stacks`)

// memory is the memory of a process in bytes: live heap objects and stacks.
type memory struct{ heap, stacks float64 }

// lastCollection returns the number of garbage collections in a log, and the live memory after the last collection.
func lastCollection(log string) (count int, alive memory) {
	all := collection.FindAllStringSubmatch(log, -1)
	if len(all) == 0 {
		return 0, memory{}
	}
	last := all[len(all)-1]
	return len(all), memory{heap: mebibytes(last[1]), stacks: mebibytes(last[2])}
}

// mebibytes parses decimal digits as a number of MiB and returns bytes.
func mebibytes(digits string) float64 {
	count, _ := strconv.ParseFloat(digits, 64)
	return count * (1 << 20)
}
