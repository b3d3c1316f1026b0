// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"

	"github.com/krmfn/krmfn/services/images/metadata"
)

// Labels are those of what the image warmer makes. Of objects without ManagedByLabel it keeps its hands off.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	Manager        = "krm-image-warmer"
	PartOfLabel    = "app.kubernetes.io/part-of"
	PartOf         = "krmfn"
)

// Labels returns the labels of what the image warmer makes. They are the caller's.
func Labels() map[string]string {
	return map[string]string{ManagedByLabel: Manager, PartOfLabel: PartOf}
}

const (
	// attempts is how often a ConfigMap is written that somebody else writes, too.
	attempts = 5
	// pause passes between two of them, and writeTimeout is the most for all.
	pause        = 100 * time.Millisecond
	writeTimeout = 30 * time.Second
)

// ForeignError says that there is a ConfigMap of this name which the image warmer has not made.
type ForeignError struct{ Namespace, Name string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("ConfigMap %s in namespace %s is not the image warmer's, and stays as it is: name another one with --metadata-configmap, or give it the label %s=true",
		e.Name, e.Namespace, metadata.Label)
}

// ConfigMap is where metadata is published in a cluster.
type ConfigMap struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// DryRun leaves the cluster as it is.
	DryRun bool
	Log    *slog.Logger
}

// Publish writes the metadata, unless it is there already, or nothing was resolved. Errors: *ForeignError; the metadata is too
// large; those of the API server.
func (c *ConfigMap) Publish(ctx context.Context, m Metadata) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var outcome Outcome
	again := func(err error) bool {
		return ctx.Err() == nil && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && outcome.Action == Updated)
	}
	err := retry.OnError(wait.Backoff{Steps: attempts, Duration: pause}, again, func() (err error) {
		outcome, err = c.once(ctx, &m)
		return err
	})
	return outcome, err
}

func (c *ConfigMap) once(ctx context.Context, m *Metadata) (Outcome, error) {
	found, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Get(ctx, c.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return c.create(ctx, m)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("read ConfigMap %s in namespace %s: %w", c.Name, c.Namespace, err)
	}
	if !ours(found) {
		return Outcome{}, &ForeignError{c.Namespace, c.Name}
	}
	text, outcome, problem, err := m.content([]byte(found.Data[metadata.Key]))
	if problem != nil {
		c.Log.WarnContext(ctx, "what is in the ConfigMap is replaced, as it is not understood", "configmap", c.Name, "namespace", c.Namespace, "err", problem)
	}
	if err != nil || outcome.Action != "" {
		return outcome, err
	}
	outcome.Action = Updated
	return outcome, c.update(ctx, found, text)
}

// ours tells whether a ConfigMap may be written: the image warmer has made it, or somebody else for its sake.
func ours(found *corev1.ConfigMap) bool {
	return found.Labels[ManagedByLabel] == Manager || found.Labels[metadata.Label] == "true"
}

func (c *ConfigMap) create(ctx context.Context, m *Metadata) (Outcome, error) {
	text, outcome, _, err := m.content(nil)
	if err != nil || outcome.Action != "" {
		return outcome, err
	}
	outcome.Action = Created
	if c.DryRun {
		return outcome, nil
	}
	_, err = c.Client.CoreV1().ConfigMaps(c.Namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace, Labels: Labels()},
		Data:       map[string]string{metadata.Key: string(text)},
	}, metav1.CreateOptions{})
	if err != nil {
		return outcome, fmt.Errorf("create ConfigMap %s in namespace %s: %w", c.Name, c.Namespace, err)
	}
	return outcome, nil
}

// update writes only what nobody else has changed since it was read: found has the resource version.
func (c *ConfigMap) update(ctx context.Context, found *corev1.ConfigMap, text []byte) error {
	if c.DryRun {
		return nil
	}
	found = found.DeepCopy()
	if found.Data == nil {
		found.Data = map[string]string{}
	}
	found.Data[metadata.Key] = string(text)
	// A key can be in one of the two only.
	delete(found.BinaryData, metadata.Key)
	if _, err := c.Client.CoreV1().ConfigMaps(c.Namespace).Update(ctx, found, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update ConfigMap %s in namespace %s: %w", c.Name, c.Namespace, err)
	}
	return nil
}
