// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package chaos

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

// Thirty pods that start at once need all CPUs of a small machine. In parallel with other specs, pods could stay unschedulable beyond the
// ready timeout.
var _ = Describe("A cluster that fits ten pods", Serial, Label("chaos"), func() {
	const functions, maxPods = 30, 10

	DescribeTable("answers the calls of thirty functions", func(ctx context.Context, exact bool, limit func(ctx context.Context, images []string)) {
		images := make([]string, functions)
		for number := range images {
			images[number] = f.Push(ctx, hostile.Echo)
		}
		limit(ctx, images)
		clients := f.Callers(ctx, functions)
		By("calling them all at once")
		Expect(fixture.Together(functions, func(number int) error {
			defer clients[number].Close()
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			out, err := clients[number].Evaluate(ctx, images[number], hostile.List(0))
			if err == nil && string(out) != string(hostile.List(0)) {
				return fmt.Errorf("the output of %s is %q", images[number], out)
			}
			return err
		})).To(HaveEach(Succeed()))
		By("calling some of them again")
		for number := range 3 {
			Expect(f.Evaluate(ctx, images[number])).To(Succeed())
		}
		if exact {
			pods, err := f.FunctionPods(ctx, "")
			Expect(err).NotTo(HaveOccurred())
			Expect(len(pods)).To(BeNumerically("<=", maxPods))
		}
	},
		Entry("because of node capacity", true, func(ctx context.Context, images []string) {
			DeferCleanup(func(ctx context.Context) { Expect(f.SetTestResource(ctx, 0)).To(Succeed()) })
			Expect(f.SetTestResource(ctx, maxPods)).To(Succeed())
			one := map[string]any{install.TestResource: "1"}
			settings := make([]any, len(images))
			for i, image := range images {
				settings[i] = map[string]any{"name": image, "resources": map[string]any{"requests": one, "limits": one}}
			}
			f.Configure(ctx, map[string]any{
				"replicas": 2, "pods": map[string]any{"warmUp": false, "readyTimeout": patience.String()}, "functions": settings,
			})
		}),
		// The API server can admit a few extra pods while the quota controller is behind.
		Entry("because of a quota", false, func(ctx context.Context, _ []string) {
			configure(ctx)
			DeferCleanup(func(ctx context.Context) { Expect(f.UnlimitPods(ctx)).To(Succeed()) })
			Expect(f.LimitPods(ctx, maxPods)).To(Succeed())
		}),
	)
})
