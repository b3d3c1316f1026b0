// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package tenancy

import (
	"context"
	"errors"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	"google.golang.org/grpc/codes"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
)

func describePods() {
	Describe("Function pods of two installations", func() {
		// Each installation may have one pod of the function. If the other installation's pod counted, the limit would allow none.
		It("are not adopted, counted or deleted by the other installation", func(ctx context.Context) {
			image := push(ctx, shared)
			Expect(a.Evaluate(ctx, image)).To(Succeed())
			Expect(b.Evaluate(ctx, image)).To(Succeed())
			ofA, ofB := podsOf(ctx, a, image), podsOf(ctx, b, image)
			Expect(ofA).To(HaveLen(1))
			Expect(ofB).To(HaveLen(1))
			watchA, watchB := a.Watch(ctx), b.Watch(ctx)

			By("restarting the function runners of both")
			Expect(errors.Join(fixture.Together(2, func(number int) error {
				return []*fixture.Fixture{a, b}[number].Restart(ctx)
			})...)).To(Succeed())
			Expect(a.Evaluate(ctx, image)).To(Succeed())
			Expect(b.Evaluate(ctx, image)).To(Succeed())
			Expect(podsOf(ctx, a, image)).To(Equal(ofA))
			Expect(podsOf(ctx, b, image)).To(Equal(ofB))
			Expect(watchB.Deleted(image)).To(BeEmpty())

			By("deleting all pods of one installation with its pod janitor")
			everything := []string{"--all", "--grace=2s", "--qps=50"}
			succeeded, log, err := b.RunJanitor(ctx, everything...)
			Expect(err).NotTo(HaveOccurred())
			Expect(succeeded).To(BeTrue(), log)
			Eventually(ctx, podsOf).WithArguments(ctx, b, image).WithTimeout(fixture.Patience).Should(BeEmpty())
			Expect(podsOf(ctx, a, image)).To(Equal(ofA))

			By("trying to delete pods of the other installation")
			succeeded, log, err = b.RunJanitor(ctx, append(everything, "--namespace="+a.Release.FunctionNamespace)...)
			Expect(err).NotTo(HaveOccurred())
			Expect(succeeded).To(BeFalse())
			Expect(log).To(ContainSubstring("forbidden"))
			Expect(podsOf(ctx, a, image)).To(Equal(ofA))
			Expect(watchA.Deleted(image)).To(BeEmpty())
			Expect(watchA.MaxLive(image)).To(Equal(1))
			Expect(a.Evaluate(ctx, image)).To(Succeed())
		})

		It("run the images that the policy of their installation allows", func(ctx context.Context) {
			image, watch := push(ctx, a.Release.Namespace), b.Watch(ctx)
			Expect(a.Evaluate(ctx, image)).To(Succeed())
			err := b.Failure(ctx, image)
			Expect(err).To(MatchError(ContainSubstring("is not permitted")))
			Expect(install.Code(err)).To(Equal(codes.PermissionDenied))
			Expect(watch.MaxLive(image)).To(BeZero())
		})
	})
}

// podsOf returns the UIDs of a function's live pods in an installation.
func podsOf(ctx context.Context, f *fixture.Fixture, image string) []types.UID {
	GinkgoHelper()
	pods, err := f.FunctionPods(ctx, image)
	Expect(err).NotTo(HaveOccurred())
	uids := make([]types.UID, len(pods))
	for n := range pods {
		uids[n] = pods[n].UID
	}
	return uids
}
