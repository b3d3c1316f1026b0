// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("Calls", Label("smoke"), Ordered, ContinueOnFailure, func() {
	BeforeAll(configure)

	It("are answered by a pod of the function, and the second one by the same pod", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		cold := onlyPodOf(ctx, image)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		Expect(onlyPodOf(ctx, image).UID).To(Equal(cold.UID))
	})

	It("create a pod with the labels of Porch, and no Service", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		pod := onlyPodOf(ctx, image)
		Expect(pod.Labels).To(HaveKeyWithValue(install.ImageLabel, pod.Name))
		Expect(pod.Annotations).To(HaveKey("fn.kpt.dev/template-version"))
		_, err := f.Client.CoreV1().Services(f.Release.FunctionNamespace).Get(ctx, pod.Name, metav1.GetOptions{})
		Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
	})

	It("create no more pods than the maximum when fifty first calls arrive at once", func(ctx context.Context) {
		image, watch := f.Push(ctx, hostile.Echo), f.Watch(ctx)
		Expect(atOnce(ctx, 50, image, 0)).To(HaveEach(Succeed()))
		Expect(watch.MaxLive(image)).To(BeNumerically("<=", maxPods))
	})

	It("create two pods when four slow calls arrive at once", func(ctx context.Context) {
		image, watch := f.Push(ctx, hostile.Echo), f.Watch(ctx)
		Expect(atOnce(ctx, 4, image, 2*time.Second)).To(HaveEach(Succeed()))
		Expect(podsOf(ctx, image)).To(HaveLen(2))
		Expect(watch.MaxLive(image)).To(Equal(2))
	})

	It("wait when all pods are saturated, and a cancelled call does not affect the others", func(ctx context.Context) {
		const callers, impatient = 4 * maxPods * perPod, 7
		image, client := f.Push(ctx, hostile.Echo), f.Caller(ctx)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		errs := fixture.Together(callers, func(number int) error {
			ctx, cancel := context.WithTimeout(ctx, patience)
			defer cancel()
			if number == impatient {
				ctx, cancel = context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
			}
			_, err := client.Evaluate(ctx, image, hostile.List(time.Second))
			return err
		})
		Expect(install.Code(errs[impatient])).To(Equal(codes.DeadlineExceeded))
		errs[impatient] = nil
		Expect(errs).To(HaveEach(Succeed()))
	})

	It("can name a function by its digest", func(ctx context.Context) {
		pushed, err := f.Images.Push(ctx, hostile.Echo, "e2e/by-digest:v1")
		Expect(err).NotTo(HaveOccurred())
		image := strings.TrimSuffix(pushed.Reference, ":v1") + "@" + pushed.Digest.String()
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		Expect(onlyPodOf(ctx, image).Spec.Containers[0].Image).To(HaveSuffix(pushed.Digest.String()))
	})

	DescribeTable("can name a function whose name is not a valid pod name", func(ctx context.Context, name string) {
		image := f.PushAs(ctx, hostile.Echo, name)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		Expect(len(onlyPodOf(ctx, image).Name)).To(BeNumerically("<=", 63))
	},
		Entry("tag with capitals and underscores", "e2e/names:V1_Beta.2-RC"),
		Entry("repository with underscores", "e2e/my_own__function:v1"),
		Entry("digit at the beginning", "e2e/3-way-merge:v1"),
		Entry("more than 63 characters", "e2e/"+strings.Repeat("long-name-", 9)+"end:v1"),
		Entry("long tag", "e2e/names:"+strings.Repeat("Long_Tag.", 12)),
	)
})
