// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/krmfn/krmfn/e2e/programs/binaries"
)

// onePod implements the part of the Kubernetes API that a function runner needs for one function pod. It runs the pod's wrapper server as a
// process on this machine.
type onePod struct {
	bin     string
	env     []string
	changed chan struct{}

	mu      sync.Mutex
	pod     *corev1.Pod
	wrapper *exec.Cmd
}

const pods = "/pods"

func (c *onePod) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, pods):
		c.create(w, r)
	case r.Method == http.MethodPatch && strings.Contains(r.URL.Path, pods+"/"):
		c.mu.Lock()
		defer c.mu.Unlock()
		writeJSON(w, c.pod)
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, pods) && query.Get("sendInitialEvents") == "true":
		// An informer whose streaming list is rejected falls back to a plain list.
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, pods) && query.Get("watch") != "":
		c.watch(w, r)
	case r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, pods):
		writeJSON(w, corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
	default:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

// watch sends an event for the pod after it has started.
func (c *onePod) watch(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	select {
	case <-r.Context().Done():
		return
	case <-c.changed:
	}
	c.mu.Lock()
	writeJSON(w, map[string]any{"type": "ADDED", "object": c.pod})
	c.mu.Unlock()
	_ = http.NewResponseController(w).Flush()
	<-r.Context().Done()
}

// create stores the pod, starts its wrapper server, and sets the pod's status to running.
func (c *onePod) create(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var object any
	if err == nil {
		object, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	}
	pod, ok := object.(*corev1.Pod)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || !ok || c.pod != nil {
		refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	pod.TypeMeta, pod.UID, pod.ResourceVersion, pod.CreationTimestamp = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, "uid", "2", metav1.Now()
	writeJSON(w, pod)
	container := pod.Spec.Containers[0]
	c.wrapper = exec.Command(filepath.Join(c.bin, binaries.WrapperServer), container.Args...) //nolint:noctx // stop ends it
	c.wrapper.Env = append(os.Environ(), c.env...)
	for _, v := range container.Env {
		if v.ValueFrom != nil {
			v.Value = string(pod.UID)
		}
		c.wrapper.Env = append(c.wrapper.Env, v.Name+"="+v.Value)
	}
	c.wrapper.Stderr = os.Stderr
	if err := c.wrapper.Start(); err != nil {
		c.wrapper = nil
		return
	}
	pod = pod.DeepCopy()
	pod.ResourceVersion = "3"
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "127.0.0.1", PodIPs: []corev1.PodIP{{IP: "127.0.0.1"}}}
	c.pod = pod
	c.changed <- struct{}{}
}

func (c *onePod) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.wrapper != nil {
		_ = c.wrapper.Process.Signal(os.Interrupt)
		_ = c.wrapper.Wait()
	}
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.WriteHeader(int(code))
	writeJSON(w, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Code: code})
}
