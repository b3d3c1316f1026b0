// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
	"github.com/krmfn/krmfn/pod-janitor/options"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func labelled(name string, age time.Duration) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: name, CreationTimestamp: metav1.NewTime(time.Now().Add(-age)),
		Labels: map[string]string{functionpod.ImageLabel: name, functionpod.PoolLabel: "p", functionpod.OrdinalLabel: "1"},
	}
}

func pod(name string, age time.Duration) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: labelled(name, age), Status: corev1.PodStatus{Phase: corev1.PodRunning}}
}

// foreign returns a pod of Porch's function runner, which failed long ago.
func foreign(name string) *corev1.Pod {
	p := pod(name, 24*time.Hour)
	p.Labels, p.Status.Phase = map[string]string{functionpod.ImageLabel: name}, corev1.PodFailed
	return p
}

// service returns the Service of a pod, which need not exist.
func service(name, owner string, age time.Duration) *corev1.Service {
	s := &corev1.Service{ObjectMeta: labelled(name, age)}
	s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: name, UID: types.UID("uid-" + owner)}}
	return s
}

func pullSecret(renewed time.Duration) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: labelled("auth-secret", 72*time.Hour)}
	s.Labels = map[string]string{functionpod.PullSecretLabel: functionpod.Keeper}
	s.Annotations = map[string]string{functionpod.LastUseAnnotation: time.Now().Add(-renewed).UTC().Format(time.RFC3339)}
	return s
}

// many returns n expired pods. Each was created one second after the one before.
func many(n int) []metav1.Object {
	all := make([]metav1.Object, 0, n)
	for i := range n {
		all = append(all, pod(fmt.Sprintf("pod-%04d", i), 24*time.Hour-time.Duration(i)*time.Second))
	}
	return all
}

type harness struct {
	*Janitor
	server   *server
	out, log bytes.Buffer
}

func newHarness(t *testing.T, args string, objects ...metav1.Object) *harness {
	t.Helper()
	o, err := options.Parse(strings.Fields("--format=json --namespace=" + testNamespace + " " + args))
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := newMetrics(noop.NewMeterProvider())
	if err != nil {
		t.Fatal(err)
	}
	h := &harness{server: newServer(objects...)}
	h.Janitor = newJanitor(Config{
		Options: o, Client: h.server.Clients(), Metadata: h.server.Metadata, Self: Self{Name: "janitor-1", Namespace: "porch-system"},
		Metrics: metrics, Out: &h.out, Log: slog.New(slog.NewTextHandler(&h.log, nil)),
	})
	return h
}

// actions returns the objects and outcomes of the reports, such as "Pod a: deleted".
func (h *harness) actions(t *testing.T) []string {
	t.Helper()
	var all []string
	for decoder := json.NewDecoder(&h.out); decoder.More(); {
		var doc struct {
			Objects []struct{ Kind, Name, Action string }
		}
		if err := decoder.Decode(&doc); err != nil {
			t.Fatal(err)
		}
		for _, o := range doc.Objects {
			all = append(all, fmt.Sprintf("%s %s: %s", o.Kind, o.Name, o.Action))
		}
	}
	return all
}

// count returns the number of objects with an outcome.
func (h *harness) count(t *testing.T, action string) int {
	t.Helper()
	n := 0
	for _, a := range h.actions(t) {
		if strings.HasSuffix(a, ": "+action) {
			n++
		}
	}
	return n
}

// deletions returns the number of delete requests since the last call, and the notes of created events.
func (h *harness) deletions() (n int, notes []string) {
	for _, r := range h.server.Requests() {
		if r.Verb == "delete" {
			n++
		}
		if event, ok := r.Created.(*eventsv1.Event); ok {
			notes = append(notes, event.Note)
		}
	}
	return n, notes
}
