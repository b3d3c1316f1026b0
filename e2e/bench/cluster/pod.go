// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/krmfn/krmfn/e2e/install"
)

// podStart is how long a pod took from when its creation was asked for.
type podStart struct {
	// ready is until a watch said so, and serves until its wrapper server did; 0 if it has none.
	ready, serves time.Duration
}

// startPod creates a pod in the functions' namespace, times it, and deletes it.
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
		// The nodes have this machine's clock.
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
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
					return nil
				}
			}
		}
	}
}

// servesSince reads from a server's log since when it has served.
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
	return time.Time{}, errors.New("it does not say that the server serves")
}
