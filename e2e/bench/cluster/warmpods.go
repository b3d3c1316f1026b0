// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

const (
	// warmFunctions is the number of warm functions, and warmPerFunction is the number of pods of each of them.
	warmFunctions, warmPerFunction = 50, 4
	// allWarm is the time limit for all pods to become ready.
	allWarm = 15 * time.Minute
	// sharedSize is the proportional set size, in which each page counts divided by the number of processes that share it; see proc(5).
	sharedSize = "Pss:"
)

// measureWarmPods measures the memory of many warm pods without calls, and of the function runner that owns them. The pods stay until the
// release is uninstalled.
func (b *bench) measureWarmPods(ctx context.Context) error {
	functions := make([]any, warmFunctions)
	for i := range functions {
		image, err := b.function.push(ctx, function.Standby)
		if err != nil {
			return err
		}
		// The requests of all pods must fit on a node with two CPUs.
		functions[i] = map[string]any{"name": image, "minWarmPods": warmPerFunction, "resources": map[string]any{"requests": map[string]any{"cpu": "1m", "memory": "32Mi"}}}
	}
	err := b.Apply(ctx, map[string]any{
		"logLevel": 2, "functions": functions, "extraArgs": []any{"--disable-runtimes=exec"},
		"pods": map[string]any{"maxParallelPodsPerFunction": warmPerFunction, "scanInterval": "1s"},
	})
	if err != nil {
		return err
	}
	pods, err := b.awaitWarm(ctx, warmFunctions*warmPerFunction)
	if err != nil {
		return err
	}
	wrappers, err := sharedMemory(ctx, pods)
	if err != nil {
		return fmt.Errorf("wrapper servers: %w", err)
	}
	runners, err := b.Client.CoreV1().Pods(install.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=function-runner"})
	if err != nil {
		return err
	}
	runner, err := sharedMemory(ctx, runners.Items)
	if err != nil {
		return fmt.Errorf("function runner: %w", err)
	}
	b.Add(report.Row{Section: memorySection, What: fmt.Sprintf("%d warm pods, per pod", len(pods)), Measured: wrappers / float64(len(pods)) / megabyte, Unit: "MB"},
		report.Row{Section: memorySection, What: fmt.Sprintf("function runner with %d functions and %d warm pods", warmFunctions, len(pods)), Measured: runner / megabyte, Unit: "MB"})
	b.Note("Memory of warm pods: the proportional set size of all wrapper servers, standby processes not included, which pods without calls do not have.")
	return nil
}

// awaitWarm waits until count function pods are ready, and returns them.
func (b *bench) awaitWarm(ctx context.Context, count int) ([]corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, allWarm)
	defer cancel()
	for {
		pods, err := b.FunctionPods(ctx, "")
		if err != nil {
			return nil, err
		}
		ready := readyOf(pods)
		if len(ready) >= count {
			return ready, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%d of %d warm pods are ready: %w", len(ready), count, ctx.Err())
		case <-time.After(time.Second):
		}
	}
}

// sharedMemory returns the sum of the proportional set sizes of the first processes in the pods' containers, in bytes.
func sharedMemory(ctx context.Context, pods []corev1.Pod) (float64, error) {
	processes := make(map[string][]string)
	tasks := make(map[string]map[string]string)
	for _, pod := range pods {
		in := containerOf(&pod)
		if tasks[in.node] == nil {
			listed, err := command.Run(ctx, "docker", "exec", in.node, "ctr", "--namespace=k8s.io", "task", "ls")
			if err != nil {
				return 0, err
			}
			tasks[in.node] = taskProcesses(listed)
		}
		process, ok := tasks[in.node][in.id]
		if !ok {
			return 0, fmt.Errorf("pod %s: its container has no task on the node", pod.Name)
		}
		processes[in.node] = append(processes[in.node], "/proc/"+process+"/smaps_rollup")
	}
	var sum float64
	for node, files := range processes {
		text, err := command.Run(ctx, "docker", append([]string{"exec", node, "cat"}, files...)...)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(text) {
			if fields := strings.Fields(line); len(fields) == 3 && fields[0] == sharedSize {
				sum += kilobytes(fields[1])
			}
		}
	}
	return sum, nil
}
