// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package release

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

// executable is a function that function runners of krmfn and Porch run without a pod, so that the uninstallation, which deletes function
// pods, does not affect its calls.
const executable = "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0"

// servingTime is the time for which Porch's function runner must answer calls after the way back.
const servingTime = time.Minute

var _ = Describe("From Porch's function runner to krmfn's and back, by the documented steps", Label("release"), SpecPriority(1), func() {
	It("no connection and no call fails, and Porch's function runner serves at the end", func(ctx context.Context) {
		porch := installPorch(ctx)
		image := f.Push(ctx, hostile.Echo)
		probe := f.NewProbe(ctx)
		service := "function-runner." + f.Release.Namespace + ":9445"
		headless := "dns:///function-runner-headless." + f.Release.Namespace + ":9445"
		values := func(more map[string]any) map[string]any {
			return install.MergeValues(map[string]any{
				"replicas": 2, "shutdownDelay": install.ShutdownDelay, "functionNamespace": map[string]any{"create": false}, "extraArgs": []any{},
			}, more)
		}
		callers := []*fixture.Calls{probe.Call(ctx, "porch", service, executable)}
		check := func() {
			GinkgoHelper()
			expectPermissions(ctx, porch)
			for _, caller := range callers {
				caller.Await(ctx, 20)
			}
		}
		check()

		By("taking over")
		Expect(f.Adopt(ctx, values(nil))).To(Succeed())
		Expect(replicas(ctx)).To(BeEquivalentTo(1))
		callers = append(callers, probe.Call(ctx, "krmfn", headless, executable))
		check()
		Expect(f.Apply(ctx, values(nil))).To(Succeed())
		Expect(replicas(ctx)).To(BeEquivalentTo(2))
		check()

		By("keeping the objects that have Porch's names, and replacing them with Porch's")
		Expect(f.Apply(ctx, values(map[string]any{"keepPorchObjects": true}))).To(Succeed())
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		long := make(chan error, 1)
		caller := f.Caller(ctx)
		go func() {
			_, err := caller.Evaluate(ctx, image, hostile.List(30*time.Second))
			long <- err
		}()
		check()
		Expect(porch.Replace(ctx)).To(Succeed())
		check()

		By("uninstalling the rest while a function runner of krmfn finishes its call")
		early := watchFunctionPods(ctx)
		Expect(f.Leave()).To(Succeed())
		Expect(early()).To(BeEmpty(), "function pods that were deleted before the function runners had ended")
		Eventually(ctx, long).WithTimeout(10 * time.Second).Should(Receive(BeNil()))
		Expect(f.AwaitSettled(ctx)).To(Succeed())
		check()

		By("restarting function runners and callers")
		Expect(f.Restart(ctx)).To(Succeed())
		callers = append(callers, probe.Call(ctx, "service", service, image), probe.Call(ctx, "headless", headless, image))
		for end := time.Now().Add(servingTime); time.Now().Before(end); {
			for _, caller := range callers {
				caller.Await(ctx, 20)
			}
		}
		check()
		Expect(replicas(ctx)).To(BeEquivalentTo(1))
		Expect(f.Client.CoreV1().Services(f.Release.Namespace).Delete(ctx, "function-runner-headless", metav1.DeleteOptions{})).To(Succeed())
	})
})
