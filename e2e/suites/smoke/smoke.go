// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package smoke checks that the cluster is fit for the other suites: what fails here is not krmfn's fault.
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
	probe     publish.Image // of e2e/cmd/probe, at /probe
	namespace string        // enforces Pod Security "restricted"
)

// restrictedNamespace makes a namespace for the time of the container, and returns when pods can be created there: without a service account
// they are refused.
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
