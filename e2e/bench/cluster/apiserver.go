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

// slotLabel and templateAnnotation are of function pods; see podtemplate in the function runner.
const slotLabel, templateAnnotation = "krmfn.dev/slot", "fn.kpt.dev/template-version"

// podServer is as much of an API server as a function runner needs to adopt pods: it lists them, and nothing ever happens.
type podServer struct{ pods []corev1.Pod }

func (s podServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/pods"):
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
	case query.Get("sendInitialEvents") == "true":
		// The client then lists.
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

// poolsOf returns a pod for each of so many functions, all like one that a function runner has made, at an address.
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
		pod.Labels[install.PoolLabel], pod.Labels[install.ImageLabel], pod.Labels[slotLabel] = hash, pod.Name, "1"
		pods[i] = *pod
	}
	return pods
}

// poolHash is the part of a function pod's name by which a function runner knows it again; see podname in the function runner.
// If it were another one there, no pod would be adopted, and the measurement would fail.
func poolHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00") + "\x00"))
	return hex.EncodeToString(sum[:])[:8]
}
