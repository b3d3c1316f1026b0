// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// logLines is the number of log lines to show per function runner. logBytes is the maximum number of bytes to read of a log.
	logLines, logBytes = 100, 8 << 20
	// succeeded is part of the log line for a successful call. A load test makes thousands of calls.
	succeeded = `"level":"INFO","msg":"evaluated"`
)

// Diagnosis describes the state of the installation for people who investigate a failed test: pods and their problems, recent warning
// events, and the logs of the function runners since a time. Errors appear in the text.
func (i *Installation) Diagnosis(ctx context.Context, since time.Time) string {
	var text strings.Builder
	for _, namespace := range []string{i.Release.Namespace, i.Release.FunctionNamespace} {
		i.describePods(ctx, &text, namespace)
		i.describeEvents(ctx, &text, namespace, since)
	}
	runners, err := i.Runners(ctx)
	if err != nil {
		fmt.Fprintf(&text, "function runners: %v\n", err)
	}
	for _, pod := range runners {
		log, err := i.log(ctx, pod.Name, since)
		fmt.Fprintf(&text, "log of %s:\n%s", pod.Name, telling(string(log)))
		if err != nil {
			fmt.Fprintln(&text, err)
		}
	}
	return text.String()
}

// Logs returns the logs of all function runners since a time.
func (i *Installation) Logs(ctx context.Context, since time.Time) (string, error) {
	runners, err := i.Runners(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, pod := range runners {
		log, err := i.log(ctx, pod.Name, since)
		if err != nil {
			return "", err
		}
		text.Write(log)
	}
	return text.String(), nil
}

func (i *Installation) log(ctx context.Context, pod string, since time.Time) ([]byte, error) {
	return i.Client.CoreV1().Pods(i.Release.Namespace).GetLogs(pod, &corev1.PodLogOptions{
		SinceTime: new(metav1.NewTime(since)), LimitBytes: new(int64(logBytes)),
	}).DoRaw(ctx)
}

// telling returns the last lines of a log, without lines for successful calls.
func telling(log string) string {
	var lines []string
	for line := range strings.Lines(log) {
		if !strings.Contains(line, succeeded) {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-logLines):], "")
}

func (i *Installation) describePods(ctx context.Context, text *strings.Builder, namespace string) {
	pods, err := i.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintf(text, "pods in %s: %v\n", namespace, err)
		return
	}
	for _, pod := range pods.Items {
		fmt.Fprintf(text, "pod %s: %s", pod.Name, pod.Status.Phase)
		if pod.DeletionTimestamp != nil {
			fmt.Fprint(text, ", terminating")
		}
		for _, container := range pod.Status.ContainerStatuses {
			fmt.Fprintf(text, "; %s: ready %t, restarts %d", container.Name, container.Ready, container.RestartCount)
			if waiting := container.State.Waiting; waiting != nil {
				fmt.Fprintf(text, ", %s %s", waiting.Reason, waiting.Message)
			}
		}
		fmt.Fprintln(text)
	}
}

func (i *Installation) describeEvents(ctx context.Context, text *strings.Builder, namespace string, since time.Time) {
	events, err := i.Client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		fmt.Fprintf(text, "events in %s: %v\n", namespace, err)
		return
	}
	for _, event := range events.Items {
		if event.Type == corev1.EventTypeWarning && event.LastTimestamp.After(since) {
			fmt.Fprintf(text, "%s %s: %s %s\n", event.InvolvedObject.Kind, event.InvolvedObject.Name, event.Reason, event.Message)
		}
	}
}
