// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/e2e/install"
)

// ordinalLabel and templateAnnotation are metadata keys of function pods. Package podtemplate of the function runner defines them.
const ordinalLabel, templateAnnotation = "krmfn.dev/ordinal", "fn.kpt.dev/template-version"

// podServer implements the part of the Kubernetes API that a function runner needs to adopt pods. It lists pods and never sends a watch
// event.
type podServer struct{ pods []corev1.Pod }

func (s podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/pods"):
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case query.Get("sendInitialEvents") == "true":
		// An informer whose streaming list is rejected falls back to a plain list.
		refuse(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid)
	case query.Get("watch") != "":
		w.WriteHeader(http.StatusOK)
		if flusher, ok := w.(http.Flusher); ok {
			flusher.Flush()
		}
		<-r.Context().Done()
	default:
		_ = json.NewEncoder(w).Encode(corev1.PodList{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: s.pods,
		})
	}
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Code: code,
	})
}

// poolsOf returns count copies of the pod made by a function runner, each in a pool of its own, all with the same IP address.
func poolsOf(count int, made *corev1.Pod, address string) []corev1.Pod {
	pods := make([]corev1.Pod, count)
	_, digest, _ := strings.Cut(made.Spec.Containers[0].Image, "@")
	for i := range pods {
		pod := made.DeepCopy()
		image := fmt.Sprintf("example.org/bench/f%d:v1", i)
		hash := poolHash(image, digest, pod.Annotations[templateAnnotation])
		pod.Name = fmt.Sprintf("f%d-v1-1-%s", i, hash)
		pod.UID, pod.Status.PodIP, pod.Status.PodIPs = types.UID(pod.Name), address, []corev1.PodIP{{IP: address}}
		pod.Annotations[install.ReferenceAnnotation] = image
		pod.Labels[install.PoolLabel], pod.Labels[install.ImageLabel], pod.Labels[ordinalLabel] = hash, pod.Name, "1"
		pods[i] = *pod
	}
	return pods
}

// poolHash returns the hash in a function pod's name. It must match the hash that package podname of the function runner computes;
// otherwise the function runner adopts no pod and the measurement fails.
func poolHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00") + "\x00"))
	return hex.EncodeToString(sum[:])[:8]
}
