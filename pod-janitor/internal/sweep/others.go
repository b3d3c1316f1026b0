// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

// service decides on the Service of a function pod. Kubernetes' garbage collector deletes it with its pod, unless the garbage collector is
// broken or the Service has no owner reference.
func (s *sweeper) service(service *corev1.Service) Decision {
	created := service.CreationTimestamp.Time
	if s.rules.All {
		return all(service)
	}
	if s.young(service) {
		return Decision{}
	}
	owners := service.OwnerReferences
	for _, owner := range owners {
		if owner.APIVersion != "v1" || owner.Kind != "Pod" {
			return uncertain(fmt.Errorf("its owner is %s %s, want a pod", owner.Kind, owner.Name), created)
		}
		if s.uids[owner.UID] {
			return Decision{}
		}
	}
	switch {
	case len(owners) > 0:
		return Decision{Delete: true, Reason: Orphaned, Detail: fmt.Sprintf("pod %s is gone", owners[0].Name), Since: created}
	case s.names[service.Name]:
		return Decision{}
	}
	return Decision{Delete: true, Reason: Orphaned, Detail: "has no pod", Since: created}
}

// secretTTL is the time from the last renewal of the pull secret to its deletion. Function runners renew it every hour.
const secretTTL = 24 * time.Hour

// secret decides on the pull secret.
func (s *sweeper) secret(secret *metav1.PartialObjectMetadata) Decision {
	if s.rules.All {
		return all(secret)
	}
	if s.young(secret) {
		return Decision{}
	}
	last, err := s.lastUse(secret)
	if _, ok := secret.Annotations[functionpod.LastUseAnnotation]; !ok {
		err = errors.New("has no annotation " + functionpod.LastUseAnnotation + ", which function runners set")
	}
	switch {
	case err != nil:
		return uncertain(err, last)
	case s.pullSecrets[secret.Name], !s.lasted(last, secretTTL):
		return Decision{}
	}
	return Decision{Delete: true, Reason: Unused, Detail: "no pod refers to it", Since: last}
}

// all decides on an object with Rules.All.
func all(object metav1.Object) Decision {
	if object.GetDeletionTimestamp() != nil {
		return Decision{}
	}
	return Decision{Delete: true, Reason: Uninstalled, Since: object.GetCreationTimestamp().Time}
}
