// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PutSecret creates or updates a Secret in the function runners' namespace. It creates the namespace if it does not exist.
func (i *Installation) PutSecret(ctx context.Context, name string, kind corev1.SecretType, data map[string][]byte) error {
	_, err := i.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: i.Release.Namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the namespace of the function runners: %w", err)
	}
	secrets := i.Client.CoreV1().Secrets(i.Release.Namespace)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: i.Release.Namespace}, Type: kind, Data: data}
	if _, err = secrets.Update(ctx, secret, metav1.UpdateOptions{}); apierrors.IsNotFound(err) {
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("secret %s: %w", name, err)
	}
	return i.touchRunners(ctx)
}

// DeleteSecret deletes a Secret in the function runners' namespace, if it exists.
func (i *Installation) DeleteSecret(ctx context.Context, name string) error {
	err := i.Client.CoreV1().Secrets(i.Release.Namespace).Delete(ctx, name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// touchRunners makes kubelets update the volumes of function runners at once. Without it, updates take up to a minute and a half.
func (i *Installation) touchRunners(ctx context.Context) error {
	runners, err := i.Runners(ctx)
	if err != nil {
		return err
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"krmfn.dev/e2e-touched":%q}}}`, time.Now().Format(time.RFC3339Nano))
	for _, runner := range runners {
		if err := i.patchPod(ctx, i.Release.Namespace, runner.Name, patch); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
