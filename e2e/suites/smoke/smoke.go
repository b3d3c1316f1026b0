// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package smoke tests that the cluster is suitable for the other suites. A failure here indicates a problem of the environment, not of
// krmfn.
package smoke

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/registry/publish"
)

var (
	f         = fixture.Shared()
	probe     publish.Image // image with e2e/cmd/probe at /probe
	namespace string        // enforces Pod Security "restricted"
)

// restrictedNamespace creates a namespace for the specs of the container, and waits for its default service account, without which the API
// server rejects pods.
func restrictedNamespace(ctx context.Context) string {
	made, err := f.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "smoke-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		Expect(f.Client.CoreV1().Namespaces().Delete(ctx, made.Name, metav1.DeleteOptions{})).To(Succeed())
	})
	Eventually(ctx, func() error {
		_, err := f.Client.CoreV1().ServiceAccounts(made.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	}).WithTimeout(patience).WithPolling(100 * time.Millisecond).Should(Succeed())
	return made.Name
}
