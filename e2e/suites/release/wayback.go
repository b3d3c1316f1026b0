// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package release

import (
	"context"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("Where Porch's objects are given back before the release is uninstalled", Label("release"), func() {
	It("no call fails, and Porch's function runner stays", func(ctx context.Context) {
		Expect(f.Remove(ctx)).To(Succeed())
		f.Unconfigure()
		porch, err := f.InstallPorch(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) { Expect(porch.Delete(ctx)).To(Succeed()) })
		shared := map[string]any{"create": false}
		Expect(f.Adopt(ctx, map[string]any{"shutdownDelay": install.ShutdownDelay, "functionNamespace": shared})).To(Succeed())
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)

		By("keeping the objects with Porch's names, and replacing them by Porch's")
		Expect(f.Apply(ctx, map[string]any{"shutdownDelay": install.ShutdownDelay, "functionNamespace": shared, "keepPorchObjects": true})).To(Succeed())
		Expect(porch.Replace(ctx)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 100)
		// The function pods of the Porch installation in this test look like krmfn's, because it uses krmfn's images. The uninstallation
		// deletes them, so no calls run during it.
		Expect(calls.Stop()).To(BeEmpty())

		By("uninstalling the rest")
		Expect(f.Leave()).To(Succeed())
		Expect(f.AwaitSettled(ctx)).To(Succeed())
		Expect(f.Runners(ctx)).NotTo(BeEmpty())
		Expect(f.Evaluate(ctx, image)).To(Succeed())
	})
})
