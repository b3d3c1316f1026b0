// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// controller is who the events are from.
	controller = "krmfn.dev/pod-janitor"
	// maxNote is the most bytes of what an Event says.
	maxNote = 1024
)

// Self is the pod that this runs in, as far as it is known.
type Self struct {
	// Name and Namespace are empty where this runs in no pod, or in one that does not say which.
	Name, Namespace string
	// UID may be empty. Then the event is no part of what kubectl describe shows of the pod.
	UID string
}

// SelfFromEnvironment returns the pod that this runs in as POD_NAME, POD_NAMESPACE and POD_UID say, by the downward API.
func SelfFromEnvironment() Self {
	return Self{Name: os.Getenv("POD_NAME"), Namespace: os.Getenv("POD_NAMESPACE"), UID: os.Getenv("POD_UID")}
}

// Tell makes an Event on the pod that this runs in, if that is known. The note is cut to 1024 bytes, the most that it can have.
// It is made though ctx is cancelled.
func (c *Cluster) Tell(ctx context.Context, note string) error {
	self := c.config.Self
	if self.Name == "" || self.Namespace == "" {
		return nil
	}
	// What there is to tell has been done, whether time is over or not.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "pod-janitor-", Namespace: self.Namespace},
		EventTime:  metav1.NewMicroTime(time.Now()),
		Type:       corev1.EventTypeNormal, Reason: "FunctionPodsDeleted", Action: "Sweep",
		Note:                note[:min(len(note), maxNote)],
		ReportingController: controller, ReportingInstance: self.Name,
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Name: self.Name, Namespace: self.Namespace, UID: types.UID(self.UID)},
	}
	if _, err := c.config.Client.EventsV1().Events(self.Namespace).Create(ctx, event, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("make an Event on pod %s/%s: %w", self.Namespace, self.Name, err)
	}
	return nil
}
