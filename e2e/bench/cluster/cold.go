// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/krmfn/krmfn/e2e/bench/calls"
	"github.com/krmfn/krmfn/e2e/bench/function"
	"github.com/krmfn/krmfn/e2e/bench/report"
	"github.com/krmfn/krmfn/e2e/install"
)

// imageVolume and initContainer are the chart's names for the ways to inject the wrapper server into pods.
const imageVolume, initContainer = "image-volume", "init-container"

const startSection = "cold starts, image on the node"

// measureStarts alternates cold calls with two comparisons: the same pod created without a function runner, and a plain pod of the
// function's image without a wrapper server. The goal for the p50 of cold calls is at most the given number of seconds.
func (b *bench) measureStarts(ctx context.Context, injection string, most float64) error {
	if err := b.apply(ctx, injection, nil); err != nil {
		return err
	}
	// The first cold call makes the node pull the images.
	if _, err := b.coldCall(ctx); err != nil {
		return err
	}
	template := b.pod
	calls, ready, serves, plain := series("cold call,\n"+injection), limits(injection+"\npod, ready"), limits(injection+"\npod, serves"), limits("plain pod,\nready")
	for range b.starts {
		took, err := b.coldCall(ctx)
		if err != nil {
			return err
		}
		calls.Times = append(calls.Times, took)
		start, err := b.startPod(ctx, withoutRunner(template))
		if err != nil {
			return err
		}
		ready.Times, serves.Times = append(ready.Times, start.ready), append(serves.Times, start.serves)
		if start, err = b.startPod(ctx, plainPod(template)); err != nil {
			return err
		}
		plain.Times = append(plain.Times, start.ready)
	}
	b.addStarts(injection, most, calls, ready, serves, plain)
	return nil
}

func (b *bench) addStarts(injection string, most float64, calls, ready, serves, plain report.Starts) {
	b.Add(report.Row{
		Section: startSection, What: "cold call, " + injection + ", p50", Measured: calls.Median().Seconds(), Beside: serves.Median().Seconds(), Unit: "s",
		Goal: &report.Goal{Bound: most},
	}, report.Row{
		Section: startSection, What: "raw pod, " + injection + ", p50 until ready", Measured: ready.Median().Seconds(), Beside: plain.Median().Seconds(), Unit: "s",
	})
	b.bars = append(b.bars, plain, ready, serves, calls)
	if injection == imageVolume {
		b.Note("Cold calls: %d references of an image that is on the node, each of them new. Beside them is a pod of the same kind that is "+
			"created without a function runner, until its wrapper server says in its log that it serves. A raw pod is ready when a watch "+
			"says so; beside it is a plain pod of the function's image, without a wrapper server and probes.", len(calls.Times))
	}
}

func series(name string) report.Starts { return report.Starts{Name: name} }

func limits(name string) report.Starts { return report.Starts{Name: name, Limit: true} }

// coldCall measures the first call of a new image reference, stores its pod in b.pod and then deletes all function pods.
func (b *bench) coldCall(ctx context.Context) (took time.Duration, err error) {
	image, err := b.function.push(ctx, function.Standby)
	if err != nil {
		return 0, err
	}
	client, err := b.Dial(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	begin := time.Now()
	if err := evaluate(ctx, client, image, function.List(calls.Small)); err != nil {
		return 0, fmt.Errorf("first call of %s: %w", image, err)
	}
	took = time.Since(begin)
	pods, err := b.FunctionPods(ctx, image)
	if err != nil {
		return 0, err
	}
	if len(pods) != 1 {
		return 0, fmt.Errorf("first call of %s: it has %d pods, want 1", image, len(pods))
	}
	b.pod = &pods[0]
	return took, b.DeleteFunctionPods(ctx)
}

// withoutRunner returns a pod with the spec of a function pod, but without the metadata that makes a function runner adopt it.
func withoutRunner(made *corev1.Pod) *corev1.Pod {
	pod := &corev1.Pod{Spec: *made.Spec.DeepCopy()}
	pod.GenerateName, pod.Spec.NodeName = "raw-", ""
	return pod
}

// plainPod returns a pod that runs the function itself as its entrypoint. The function waits for its input.
func plainPod(made *corev1.Pod) *corev1.Pod {
	pod := withoutRunner(made)
	pod.Spec.InitContainers, pod.Spec.Volumes = nil, nil
	container := &pod.Spec.Containers[0]
	container.Command, container.Args, container.Env, container.VolumeMounts = nil, nil, nil, nil
	container.ReadinessProbe, container.LivenessProbe, container.StartupProbe = nil, nil, nil
	container.Stdin = true
	return pod
}

// podStart holds the start latencies of a pod, measured from the create request.
type podStart struct {
	// ready is the time until a watch reports the pod as ready. serves is the time until the wrapper server logs that it serves; 0 for a
	// pod without a wrapper server.
	ready, serves time.Duration
}

// startPod creates a pod in the function namespace, measures its start and then deletes all function pods.
func (b *bench) startPod(ctx context.Context, pod *corev1.Pod) (start podStart, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	pods := b.Client.CoreV1().Pods(install.FunctionNamespace)
	events, err := pods.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return start, err
	}
	defer events.Stop()
	begin := time.Now()
	made, err := pods.Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return start, err
	}
	if err := awaitReady(ctx, events, made.Name); err != nil {
		return start, err
	}
	start.ready = time.Since(begin)
	if len(made.Spec.Containers[0].Command) > 0 {
		log, err := pods.GetLogs(made.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		if err != nil {
			return start, err
		}
		serves, err := servesSince(log)
		if err != nil {
			return start, fmt.Errorf("log of pod %s: %w", made.Name, err)
		}
		// The times are comparable, because nodes are containers that use this machine's clock.
		start.serves = serves.Sub(begin)
	}
	return start, b.DeleteFunctionPods(ctx)
}

func awaitReady(ctx context.Context, events watch.Interface, name string) error {
	var last corev1.PodStatus
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait until pod %s is ready: %w: its status is %s", name, ctx.Err(), last.String())
		case event, open := <-events.ResultChan():
			if !open {
				return fmt.Errorf("wait until pod %s is ready: the watch has ended", name)
			}
			pod, ok := event.Object.(*corev1.Pod)
			if !ok || pod.Name != name {
				continue
			}
			last = pod.Status
			if slices.ContainsFunc(pod.Status.Conditions, isReady) {
				return nil
			}
		}
	}
}

// servesSince returns the time at which a server logged that it serves.
func servesSince(log []byte) (time.Time, error) {
	for line := range bytes.Lines(log) {
		var event struct {
			Time time.Time
			Msg  string
		}
		if json.Unmarshal(line, &event) == nil && event.Msg == "serving" {
			return event.Time, nil
		}
	}
	return time.Time{}, errors.New("the message serving is missing")
}
