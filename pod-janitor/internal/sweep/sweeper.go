// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

// sweeper has the properties of all objects that decisions on single objects depend on.
type sweeper struct {
	rules Rules
	now   time.Time
	// uids are the UIDs of all pods. names are their names, and the names in the selectors of Services.
	uids  map[types.UID]bool
	names map[string]bool
	// pullSecrets are the names in imagePullSecrets of all pods.
	pullSecrets map[string]bool
	// successors are the youngest ready pods of a function by its image. Two pools have one each, so that every pod finds one of another pool.
	successors map[string][]*corev1.Pod
}

func newSweeper(objects Objects, rules Rules, now time.Time) *sweeper {
	s := &sweeper{
		rules: rules, now: now, uids: map[types.UID]bool{}, names: map[string]bool{}, pullSecrets: map[string]bool{},
		successors: successors(objects.Pods),
	}
	for _, pod := range objects.Pods {
		s.uids[pod.UID], s.names[pod.Name] = true, true
		if label := pod.Labels[functionpod.ImageLabel]; label != "" {
			s.names[label] = true
		}
		for _, secret := range pod.Spec.ImagePullSecrets {
			s.pullSecrets[secret.Name] = true
		}
	}
	return s
}

// isFunction reports whether an object is a pod or Service of krmfn's function runner.
func isFunction(o metav1.Object) bool {
	labels := o.GetLabels()
	return labels[functionpod.PoolLabel] != "" && labels[functionpod.OrdinalLabel] != ""
}

// isWarmer reports whether an object is a pod of the image warmer.
func isWarmer(o metav1.Object) bool { return o.GetLabels()[functionpod.WarmerLabel] != "" }

// isPullSecret reports whether an object is the Secret that function runners maintain.
func isPullSecret(o metav1.Object) bool {
	return o.GetLabels()[functionpod.PullSecretLabel] == functionpod.Keeper
}

// past returns t, or now if t is unknown or, because of a fast clock, in the future.
func (s *sweeper) past(t time.Time) time.Time {
	if t.IsZero() || t.After(s.now) {
		return s.now
	}
	return t
}

// lasted reports whether more than d has passed since a time.
func (s *sweeper) lasted(since time.Time, d time.Duration) bool {
	return s.now.Sub(s.past(since)) > d
}

// young reports whether an object must stay regardless of its state, because it is new or already terminating.
func (s *sweeper) young(o metav1.Object) bool {
	return o.GetDeletionTimestamp() != nil || !s.lasted(o.GetCreationTimestamp().Time, s.rules.Grace)
}

// lastUse returns the last use of an object according to its annotation, or its creation time if that is later or the annotation is missing.
func (s *sweeper) lastUse(o metav1.Object) (time.Time, error) {
	created := s.past(o.GetCreationTimestamp().Time)
	text, ok := o.GetAnnotations()[functionpod.LastUseAnnotation]
	if !ok {
		return created, nil
	}
	last, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return created, invalidAnnotation(functionpod.LastUseAnnotation, text, "a time in RFC 3339 format")
	}
	if last = s.past(last); last.Before(created) {
		return created, nil
	}
	return last, nil
}

// ttl returns the time to live of a pod.
func (s *sweeper) ttl(pod *corev1.Pod) (time.Duration, error) {
	text, ok := pod.Annotations[functionpod.TTLAnnotation]
	if !ok {
		return s.rules.PodTTL, nil
	}
	ttl, err := time.ParseDuration(text)
	if err != nil || ttl <= 0 {
		return 0, invalidAnnotation(functionpod.TTLAnnotation, text, "a Go duration of more than 0")
	}
	return ttl, nil
}

// maxQuoteBytes limits the part of an annotation that messages quote. Annotations may have any content.
const maxQuoteBytes = 60

func invalidAnnotation(annotation, text, want string) error {
	if len(text) > maxQuoteBytes {
		text = text[:maxQuoteBytes] + "..."
	}
	return fmt.Errorf("annotation %s is %q, want %s", annotation, text, want)
}

// uncertain returns the decision to report an object whose annotations or owners are invalid.
func uncertain(err error, since time.Time) Decision {
	return Decision{Reason: Uncertain, Detail: err.Error(), Since: since}
}
