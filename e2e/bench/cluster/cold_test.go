// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestServesSince(t *testing.T) {
	t.Parallel()
	const line = `{"time":"2026-11-21T15:11:34.838815881Z","level":"INFO","msg":"serving","address":"[::]:9446","command":"/function"}`
	got, err := servesSince([]byte("a warning\n{\"msg\":\"serving soon\"}\n" + line + "\n"))
	if want := time.Date(2026, 11, 21, 15, 11, 34, 838815881, time.UTC); err != nil || !got.Equal(want) {
		t.Errorf("servesSince() = %v, %v, want %v", got, err, want)
	}
	if _, err := servesSince([]byte("{}\n")); err == nil {
		t.Error("servesSince() succeeded on a log without the serving message, want an error")
	}
}

func TestPlainPodHasNothingButTheFunction(t *testing.T) {
	t.Parallel()
	var made corev1.Pod
	made.Name, made.Labels, made.Spec.NodeName = "set-labels-v1-1-12345678", map[string]string{"fn.kpt.dev/image": "a"}, "node"
	made.Spec.Volumes = []corev1.Volume{{Name: "tools"}}
	made.Spec.Containers = []corev1.Container{{Name: "function", Image: "image", Command: []string{"wrapper-server"}, ReadinessProbe: &corev1.Probe{}}}
	want := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "function", Image: "image", Stdin: true}}}}
	want.GenerateName = "raw-"
	if diff := cmp.Diff(want, plainPod(&made)); diff != "" {
		t.Errorf("plainPod() (-want +got):\n%s", diff)
	}
	if made.Spec.NodeName == "" || made.Spec.Volumes == nil || made.Spec.Containers[0].Command == nil {
		t.Errorf("plainPod() changed its argument: %v", made)
	}
}
