// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("With an API server that rewrites the images of pods", func() {
	It("two calls are answered by the same pod", func(ctx context.Context) {
		configure(ctx)
		before, image := f.Push(ctx, hostile.Echo), f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, before)).To(Succeed())
		Expect(f.Mirror(ctx, image)).To(Succeed())
		like := onlyPodOf(ctx, before)
		DeferCleanup(func(ctx context.Context) { Expect(f.KeepImages(ctx, &like)).To(Succeed()) })
		Expect(f.RewriteImages(ctx, &like)).To(Succeed())

		Expect(f.Evaluate(ctx, image)).To(Succeed())
		pod := onlyPodOf(ctx, image)
		Expect(pod.Spec.Containers[0].Image).To(HaveSuffix(":" + install.MirroredTag))
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		Expect(onlyPodOf(ctx, image).UID).To(Equal(pod.UID))
	})
})
