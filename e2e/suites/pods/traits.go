// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"
	"fmt"

	"github.com/google/go-containerregistry/pkg/crane"
	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
)

var _ = Describe("A function whose image declares that it is a worker, and deterministic", Label("smoke"), Ordered, func() {
	// image is an image of a curated function whose labels declare both. Each spec uses a new name, because terminating pods of another
	// spec could still answer.
	var image string
	number := 0

	BeforeEach(func(ctx context.Context) {
		number++
		image = fmt.Sprintf("%s/e2e/set-labels:traits-%d", f.Registry, number)
		Expect(crane.Copy(f.Registry+"/set-labels:v0.2.0", image, crane.WithContext(ctx), crane.Insecure)).To(Succeed())
	})

	BeforeAll(func(ctx context.Context) {
		// Each function runner has its own result cache, so there is only one. Its executables are disabled.
		f.Configure(ctx, map[string]any{
			"replicas": 1, "pods": limits("30s"), "resultCacheSize": "16Mi", "extraArgs": []any{"--disable-runtimes=exec"},
		})
	})

	It("runs as a worker, and answers an equal call from the result cache", func(ctx context.Context) {
		first, ran := labelled(ctx, image, "one")
		Expect(ran.GetCached()).To(BeFalse(), ran.String())
		pod := onlyPodOf(ctx, image)
		Expect(pod.Spec.Containers[0].Args).To(ContainElement("--worker"))
		again, kept := labelled(ctx, image, "one")
		Expect(kept.GetCached()).To(BeTrue(), kept.String())
		Expect(again).To(Equal(first))
		Expect(kept.GetDigest()).To(Equal(ran.GetDigest()))
		Expect(kept.GetImplementation()).To(Equal(pod.Name))
		By("calling it with another list")
		other, ran := labelled(ctx, image, "two")
		Expect(ran.GetCached()).To(BeFalse(), ran.String())
		Expect(other).NotTo(Equal(first))
	})

	It("answers many calls in one pod", func(ctx context.Context) {
		_, ran := labelled(ctx, image, "many")
		pod := onlyPodOf(ctx, image)
		for number := range 50 {
			out, ran := labelled(ctx, image, fmt.Sprintf("value-%d", number))
			Expect(ran.GetCached()).To(BeFalse(), ran.String())
			Expect(out).To(ContainSubstring("value-%d", number))
		}
		Expect(ran.GetImplementation()).To(Equal(pod.Name))
		now := onlyPodOf(ctx, image)
		Expect(now.UID).To(Equal(pod.UID))
		Expect(now.Status.ContainerStatuses).To(HaveEach(HaveField("RestartCount", BeZero())))
	})

	It("runs for each call without a result cache", func(ctx context.Context) {
		f.Configure(ctx, map[string]any{"replicas": 1, "pods": limits("30s"), "extraArgs": []any{"--disable-runtimes=exec"}})
		for range 2 {
			_, ran := labelled(ctx, image, "one")
			Expect(ran.GetCached()).To(BeFalse(), ran.String())
		}
	})
})

// labelled calls the function with a label's value, and returns the output and details of the evaluation.
func labelled(ctx context.Context, image, value string) (output string, report *evaluationv1.Evaluation) {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, report, err := f.Caller(ctx).EvaluateReported(ctx, image, fmt.Appendf(nil, `apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: item}}
functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {label: %s}}
`, value))
	Expect(err).NotTo(HaveOccurred())
	Expect(report.GetFailure()).To(BeNil(), report.String())
	return string(out), report
}
