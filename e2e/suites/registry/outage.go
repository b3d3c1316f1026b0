// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package registry

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/registry/private"
)

var _ = Describe("A registry that fails", Label("registry"), func() {
	BeforeEach(configure)

	DescribeTable("does not affect known functions, and callers of others get the reason", func(ctx context.Context, fault private.Fault, reason string) {
		known, _ := push(ctx, fmt.Sprintf("team/known:fault-%d", fault))
		unknown, _ := push(ctx, fmt.Sprintf("team/unknown:fault-%d", fault))
		Expect(f.Evaluate(ctx, known)).To(Succeed())
		calls := f.Load(ctx, f.Callers(ctx, 2), known, 20*time.Millisecond)
		registry.SetFault(fault)
		fixture.AwaitCalls(ctx, calls, 50)
		// After this sleep, the cached digest of the tag has expired.
		time.Sleep(3 * ttl)
		fixture.AwaitCalls(ctx, calls, 50)
		Expect(calls.Stop()).To(BeEmpty())
		Expect(f.DeleteFunctionPods(ctx)).To(Succeed())
		By("replacing a pod whose image is on the node")
		Expect(f.Evaluate(ctx, known)).To(Succeed())
		err := callFor(ctx, unknown, 5*time.Second)
		Expect(err).To(MatchError(ContainSubstring(reason)))
		registry.SetFault(private.NoFault)
		Eventually(ctx, func() error { return f.Evaluate(ctx, unknown) }).WithTimeout(patience).WithPolling(time.Second).Should(Succeed())
	},
		Entry("no response", private.Hang, "the registry has not answered"),
		Entry("truncated responses", private.Truncate, "EOF"),
		Entry("rate limit", private.RateLimit, "limit"),
	)

	It("gets few requests during a rate limit", func(ctx context.Context) {
		unknown, _ := push(ctx, "team/throttled:v1")
		registry.SetFault(private.RateLimit)
		registry.Requests()
		for range 20 {
			Expect(callFor(ctx, unknown, time.Second)).To(MatchError(ContainSubstring("limit")))
		}
		Expect(registry.Requests()).To(BeNumerically("<", 10))
	})
})

var _ = Describe("A tag that moves", Label("registry"), func() {
	BeforeEach(configure)

	It("takes effect in time, no call fails, and pods of the previous image are deleted", func(ctx context.Context) {
		image, before := push(ctx, "team/moving:stable")
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		calls := f.Load(ctx, f.Callers(ctx, 4), image, 20*time.Millisecond)
		fixture.AwaitCalls(ctx, calls, 50)
		_, after := push(ctx, "team/moving:stable")
		Expect(after).NotTo(Equal(before))
		Eventually(ctx, digests).WithArguments(ctx, image).WithTimeout(3 * ttl).WithPolling(200 * time.Millisecond).Should(ContainElement(after))
		// Function runners keep pods of a superseded pool for half a minute, because other function runners may not know the new digest
		// yet.
		Eventually(ctx, digests).WithArguments(ctx, image).WithTimeout(time.Minute).WithPolling(time.Second).ShouldNot(ContainElement(before))
		fixture.AwaitCalls(ctx, calls, 50)
		Expect(calls.Stop()).To(BeEmpty())
	})
})

// callFor calls a function with a deadline.
func callFor(ctx context.Context, image string, limit time.Duration) error {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	_, err := f.Caller(ctx).Evaluate(ctx, image, []byte("kind: ResourceList\n"))
	return err
}

// digests lists the image digests of a function's live pods.
func digests(ctx context.Context, image string) ([]string, error) {
	pods, err := f.FunctionPods(ctx, image)
	var all []string
	for _, pod := range pods {
		_, digest, _ := strings.Cut(pod.Spec.Containers[0].Image, "@")
		all = append(all, digest)
	}
	return all, err
}
