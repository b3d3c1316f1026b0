// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/krmfn/krmfn/e2e/install"
)

func TestPodServerServesAnInformer(t *testing.T) {
	t.Parallel()
	made := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Image: "a/b@sha256:1"}}}}
	made.Labels, made.Annotations = map[string]string{}, map[string]string{}
	server := httptest.NewServer(podServer{pods: poolsOf(3, made, "127.0.0.1")})
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	factory := informers.NewSharedInformerFactory(client, time.Hour)
	pods := factory.Core().V1().Pods().Informer()
	// Server.Close blocks until the last watch has ended, and the informer restarts its watch until its context is cancelled.
	ctx, cancel := context.WithCancel(t.Context())
	defer factory.Shutdown()
	defer cancel()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	if got := len(pods.GetStore().List()); got != 3 {
		t.Fatalf("len(List()) = %d, want 3", got)
	}
	for _, object := range pods.GetStore().List() {
		pod, ok := object.(*corev1.Pod)
		if !ok || pod.Name != pod.Labels[install.ImageLabel] || pod.Status.PodIP != "127.0.0.1" {
			t.Errorf("pod %v", object)
		}
	}
}
