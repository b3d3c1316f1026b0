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

// sweeper knows of all objects what decides on one of them.
type sweeper struct {
	rules Rules
	now   time.Time
	// uids are the UIDs of all pods. names are their names, and the names in the selectors of Services.
	uids  map[types.UID]bool
	names map[string]bool
	// pullSecrets are the names that pods have in imagePullSecrets.
	pullSecrets map[string]bool
	// successors are the youngest ready pods of a function, by its image as it was asked for: those of two pools, so that
	// one of them is of another pool than any given pod.
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

// isFunction tells pods and Services of our function runners from those of other makers.
func isFunction(o metav1.Object) bool {
	labels := o.GetLabels()
	return labels[functionpod.PoolLabel] != "" && labels[functionpod.OrdinalLabel] != ""
}

func isWarmer(o metav1.Object) bool { return o.GetLabels()[functionpod.WarmerLabel] != "" }

// isPullSecret knows the Secret that function runners keep.
func isPullSecret(o metav1.Object) bool {
	return o.GetLabels()[functionpod.PullSecretLabel] == functionpod.Keeper
}

// past returns a time of an object. One that is not known, or that a fast clock has put into the future, counts as now.
func (s *sweeper) past(t time.Time) time.Time {
	if t.IsZero() || t.After(s.now) {
		return s.now
	}
	return t
}

// lasted reports whether more than the given duration has passed since then.
func (s *sweeper) lasted(since time.Time, than time.Duration) bool {
	return s.now.Sub(s.past(since)) > than
}

// young reports whether an object must stay regardless of its state, because it is new or already terminating.
func (s *sweeper) young(o metav1.Object) bool {
	return o.GetDeletionTimestamp() != nil || !s.lasted(o.GetCreationTimestamp().Time, s.rules.Grace)
}

// lastUse returns when an object was last used as far as it says so: not before it was made.
func (s *sweeper) lastUse(o metav1.Object) (time.Time, error) {
	made := s.past(o.GetCreationTimestamp().Time)
	text, noted := o.GetAnnotations()[functionpod.LastUseAnnotation]
	if !noted {
		return made, nil
	}
	last, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return made, notUnderstood(functionpod.LastUseAnnotation, text, "a time of RFC 3339")
	}
	if last = s.past(last); last.Before(made) {
		return made, nil
	}
	return last, nil
}

func (s *sweeper) ttl(pod *corev1.Pod) (time.Duration, error) {
	text, noted := pod.Annotations[functionpod.TTLAnnotation]
	if !noted {
		return s.rules.PodTTL, nil
	}
	ttl, err := time.ParseDuration(text)
	if err != nil || ttl <= 0 {
		return 0, notUnderstood(functionpod.TTLAnnotation, text, "a Go duration of more than 0")
	}
	return ttl, nil
}

// longestQuote is the maximum number of bytes of an annotation in a message. Annotations may have any content.
const longestQuote = 60

func notUnderstood(annotation, text, want string) error {
	if len(text) > longestQuote {
		text = text[:longestQuote] + "..."
	}
	return fmt.Errorf("annotation %s is %q, want %s", annotation, text, want)
}

// uncertain tells of an object whose annotations are not understood.
func uncertain(err error, since time.Time) Decision {
	return Decision{Reason: Uncertain, Detail: err.Error(), Since: since}
}
