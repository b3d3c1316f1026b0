// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("With Services as frontends", func() {
	It("a pod owns its Service, and a deleted Service is created again", func(ctx context.Context) {
		f.Configure(ctx, map[string]any{"replicas": 2, "shutdownDelay": install.ShutdownDelay, "pods": map[string]any{
			"maxParallelPodsPerFunction": 1, "maxWaitlistLength": 1, "frontend": "service",
		}})
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		pods, err := f.FunctionPods(ctx, image)
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(HaveLen(1))
		calls := f.Load(ctx, f.Callers(ctx, 8), image, 20*time.Millisecond)
		fixture.AwaitCalls(ctx, calls, 100)
		services := f.Client.CoreV1().Services(f.Release.FunctionNamespace)
		service, err := services.Get(ctx, pods[0].Name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(service.Spec.Selector).To(HaveKeyWithValue(install.ImageLabel, pods[0].Name))
		Expect(service.Spec.Ports).To(ConsistOf(HaveField("Port", int32(9446))))
		Expect(service.OwnerReferences).To(ConsistOf(HaveField("UID", pods[0].UID)))
		Expect(services.Delete(ctx, pods[0].Name, metav1.DeleteOptions{})).To(Succeed())
		// Connections outlive the Service that they were made through. Restarted function runners must connect again.
		Expect(f.Restart(ctx)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 300)
		Expect(calls.Stop()).To(BeEmpty())
		Expect(calls.Longest()).To(BeNumerically("<", 10*time.Second))
		Expect(f.Evaluate(ctx, image)).To(Succeed())
	})
})
