// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/record"

	"github.com/krmfn/krmfn/function-runner/internal/podmanager"
	"github.com/krmfn/krmfn/internal/cluster/client"
)

var core = corev1.SchemeGroupVersion

func configMaps(c *client.Cluster, namespace string) *client.Objects[*corev1.ConfigMap, *corev1.ConfigMapList] {
	return client.Of(c, core, "configmaps", namespace, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
}

func secrets(c *client.Cluster, namespace string) *client.Objects[*corev1.Secret, *corev1.SecretList] {
	return client.Of(c, core, "secrets", namespace, &corev1.Secret{}, &corev1.SecretList{})
}

func functionPods(c *client.Cluster, namespace string) *podmanager.Client {
	return &podmanager.Client{
		Pods:     client.Of(c, core, "pods", namespace, &corev1.Pod{}, &corev1.PodList{}),
		Services: client.Of(c, core, "services", namespace, &corev1.Service{}, &corev1.ServiceList{}),
	}
}

// newRecorder returns a recorder for events on pods, and a function that writes the events to the namespace until its context ends.
func newRecorder(ctx context.Context, c *client.Cluster, namespace string) (recorder record.EventRecorder, write func(context.Context)) {
	broadcaster := record.NewBroadcaster(record.WithContext(context.WithoutCancel(ctx)))
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	write = func(ctx context.Context) {
		broadcaster.StartRecordingToSink(&eventSink{
			ctx: context.WithoutCancel(ctx), events: client.Of(c, core, "events", namespace, &corev1.Event{}, &corev1.EventList{}),
		})
		<-ctx.Done()
		broadcaster.Shutdown()
	}
	return broadcaster.NewRecorder(scheme, corev1.EventSource{Component: "krmfn-function-runner"}), write
}

// eventSink is a record.EventSink that writes events to the API server.
type eventSink struct {
	ctx    context.Context //nolint:containedctx // record.EventSink takes none
	events *client.Objects[*corev1.Event, *corev1.EventList]
}

// Create implements record.EventSink.
func (s *eventSink) Create(event *corev1.Event) (*corev1.Event, error) {
	return s.events.Create(s.ctx, event, metav1.CreateOptions{})
}

// Update implements record.EventSink.
func (s *eventSink) Update(event *corev1.Event) (*corev1.Event, error) {
	return s.events.Update(s.ctx, event, metav1.UpdateOptions{})
}

// Patch implements record.EventSink.
func (s *eventSink) Patch(event *corev1.Event, patch []byte) (*corev1.Event, error) {
	return s.events.Patch(s.ctx, event.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
}
