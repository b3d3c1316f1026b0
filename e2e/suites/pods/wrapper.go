// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"
	"maps"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"

	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("The wrapper server", Label("smoke"), Ordered, ContinueOnFailure, func() {
	DescribeTable("is injected into the pod and called", func(ctx context.Context, injection, frontend string, inContainer bool) {
		pods := limits("30s")
		maps.Copy(pods, map[string]any{"wrapperInjection": injection, "frontend": frontend})
		f.Configure(ctx, map[string]any{"pods": pods})
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		pod := onlyPodOf(ctx, image)
		if injection == "auto" {
			volumes, err := f.ImageVolumes()
			Expect(err).NotTo(HaveOccurred())
			inContainer = !volumes
		}
		if inContainer {
			Expect(pod.Spec.InitContainers).To(HaveLen(1))
			Expect(pod.Spec.Volumes).NotTo(ContainElement(isImage))
		} else {
			Expect(pod.Spec.InitContainers).To(BeEmpty())
			Expect(pod.Spec.Volumes).To(ContainElement(isImage))
		}
	},
		Entry("as an image volume, at the pod's address", "image-volume", "pod-ip", false, Label("image-volumes")),
		Entry("by an init container, through the Service", "init-container", "service", true),
		Entry("with the settings auto", "auto", "auto", false),
	)
})

// isImage matches an image volume.
var isImage = WithTransform(func(v corev1.Volume) bool { return v.Image != nil }, BeTrue())
