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
	"k8s.io/client-go/util/retry"

	"github.com/krmfn/krmfn/image-warmer/internal/report"
	"github.com/krmfn/krmfn/internal/images/metadata"
)

// Labels of the objects that the image warmer creates. It does not change objects without ManagedByLabel.
const (
	ManagedByLabel = "app.kubernetes.io/managed-by"
	Manager        = "krm-image-warmer"
	PartOfLabel    = "app.kubernetes.io/part-of"
	PartOf         = "krmfn"
)

// Labels returns a new map with the labels of the objects that the image warmer creates.
func Labels() map[string]string {
	return map[string]string{ManagedByLabel: Manager, PartOfLabel: PartOf}
}

const (
	// attempts is the maximum number of writes of a ConfigMap after conflicts.
	attempts = 5
	// pause is the delay between attempts, and writeTimeout is the timeout for all of them.
	pause        = 100 * time.Millisecond
	writeTimeout = 30 * time.Second
)

// ConfigMaps is a client for the ConfigMaps of a namespace.
type ConfigMaps interface {
	Get(ctx context.Context, name string, options metav1.GetOptions) (*corev1.ConfigMap, error)
	Create(ctx context.Context, object *corev1.ConfigMap, options metav1.CreateOptions) (*corev1.ConfigMap, error)
	Update(ctx context.Context, object *corev1.ConfigMap, options metav1.UpdateOptions) (*corev1.ConfigMap, error)
}

// ConfigMap publishes metadata in a ConfigMap.
type ConfigMap struct {
	Client          ConfigMaps
	Namespace, Name string
	// DryRun prevents writes.
	DryRun bool
	Log    *slog.Logger
}

// Publish writes the metadata, unless the ConfigMap already contains it or no image was resolved. It returns an error for a ConfigMap that has
// neither the image warmer's labels nor metadata.Label.
func (c *ConfigMap) Publish(ctx context.Context, m Metadata) (report.Metadata, error) {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var outcome report.Metadata
	again := func(err error) bool {
		return ctx.Err() == nil && (apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) && outcome.Action == report.Updated)
	}
	err := retry.OnError(wait.Backoff{Steps: attempts, Duration: pause}, again, func() (err error) {
		outcome, err = c.once(ctx, &m)
		return err
	})
	return outcome, err
}

// once makes one attempt. The resource version of the update detects concurrent writes.
func (c *ConfigMap) once(ctx context.Context, m *Metadata) (report.Metadata, error) {
	object, err := c.Client.Get(ctx, c.Name, metav1.GetOptions{})
	action, verb := report.Updated, "update"
	switch {
	case apierrors.IsNotFound(err):
		action, verb = report.Created, "create"
		object = &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.Name, Namespace: c.Namespace, Labels: Labels()}}
	case err != nil:
		return report.Metadata{}, fmt.Errorf("read ConfigMap %s in namespace %s: %w", c.Name, c.Namespace, err)
	case object.Labels[ManagedByLabel] != Manager && object.Labels[metadata.Label] != "true":
		return report.Metadata{}, fmt.Errorf("ConfigMap %s in namespace %s is not the image warmer's, and stays as it is: name another one with --metadata-configmap, or give it the label %s=true",
			c.Name, c.Namespace, metadata.Label)
	}
	text, outcome, problem, err := m.content([]byte(object.Data[metadata.Key]))
	outcome.Target = "ConfigMap " + c.Namespace + "/" + c.Name
	if problem != nil {
		c.Log.WarnContext(ctx, "the ConfigMap has invalid metadata, which is replaced", "configmap", c.Name, "namespace", c.Namespace, "err", problem)
	}
	if err != nil || outcome.Action != "" {
		return outcome, err
	}
	outcome.Action = action
	if c.DryRun {
		return outcome, nil
	}
	if object.Data == nil {
		object.Data = map[string]string{}
	}
	object.Data[metadata.Key] = string(text)
	// The API server rejects a key that is in both maps.
	delete(object.BinaryData, metadata.Key)
	if action == report.Created {
		_, err = c.Client.Create(ctx, object, metav1.CreateOptions{})
	} else {
		_, err = c.Client.Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return outcome, fmt.Errorf("%s ConfigMap %s in namespace %s: %w", verb, c.Name, c.Namespace, err)
	}
	return outcome, nil
}
