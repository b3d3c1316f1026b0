// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podcertificates

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"
)

// While the Secret is deleted, a function runner that may not create it uses the authority that it has read. When the Secret is there again,
// it gets a new authority, and pods of both authorities can be called.
func TestSecretIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := cluster(&corev1.Secret{})
		client.PrependReactor("create", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, name, errors.New("no"))
		})
		k := keeper(client, Own, quarter)
		load(t, k)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); k.Run(ctx, func() {}) }()
		callsSucceed := func(d time.Duration, pods ...[]string) {
			t.Helper()
			for range int(d / time.Minute) {
				time.Sleep(time.Minute) // of the bubble's clock
				for _, pod := range pods {
					if err := accepts(t, pod, k); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		old := k.Trust()
		secrets := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
		if err := client.Tracker().Delete(secrets, namespace, name); err != nil {
			t.Fatal(err)
		}
		callsSucceed(26*time.Hour, old)
		if got := k.Trust(); !slices.Equal(got, old) {
			t.Errorf("Trust() without the Secret = %q, want %q", got, old)
		}
		again := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace, ResourceVersion: "10"}}
		if err := client.Tracker().Add(again); err != nil {
			t.Fatal(err)
		}
		callsSucceed(2*maxInterval, old)
		next := k.Trust()
		if slices.Equal(next, old) {
			t.Error("Trust() has no new authority")
		}
		callsSucceed(time.Hour, old, next)
		cancel()
		<-done
	})
}
