// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package registry_test

import (
	"context"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	"google.golang.org/grpc/codes"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/registry/private"
)

var _ = Describe("With the image warmer", Label("registry"), func() {
	AfterEach(func(ctx context.Context) { f.Configure(ctx, values()) })

	It("a function runner that has just started makes pods though the registry is down", func(ctx context.Context) {
		warmed, digest := push(ctx, "team/warmed:v1")
		unknown, _ := push(ctx, "team/not-warmed:v1")
		with := maps.Clone(values())
		with["imageWarmer"] = map[string]any{"enabled": true, "images": []any{warmed}}
		begin := time.Now()
		f.Configure(ctx, with)
		noneSees(ctx, begin, first)

		registry.SetFault(private.Hang)
		registry.Requests()
		Expect(f.Restart(ctx)).To(Succeed())
		Expect(f.Evaluate(ctx, warmed)).To(Succeed())
		Expect(digests(ctx, warmed)).To(ConsistOf(digest))
		By("having neither metadata nor a registry")
		Expect(callFor(ctx, unknown, 5*time.Second)).To(MatchError(ContainSubstring("the registry has not answered")))
	})
})

var _ = Describe("With an image policy", Label("registry"), func() {
	AfterEach(func(ctx context.Context) { f.Configure(ctx, values()) })

	It("images that it refuses are not asked for, and others run", func(ctx context.Context) {
		permitted, digest := push(ctx, "team/permitted:v1.0.0")
		floating, _ := push(ctx, "team/permitted:latest")
		refused, _ := push(ctx, "others/refused:v1.0.0")
		pinned, pinnedDigest := push(ctx, "others/pinned:v1.0.0")
		with := maps.Clone(values())
		with["images"] = map[string]any{"ttl": ttl.String(), "policy": map[string]any{
			"allow": []any{
				map[string]any{"prefix": registry.Address + "/team"},
				map[string]any{"digest": pinnedDigest},
			},
			"floatingTags": "refuse",
		}}
		f.Configure(ctx, with)
		Expect(f.Evaluate(ctx, permitted)).To(Succeed())
		Expect(digests(ctx, permitted)).To(ConsistOf(digest))
		Expect(f.Evaluate(ctx, pinned)).To(Succeed())
		for _, image := range []string{floating, refused} {
			watch := f.Watch(ctx)
			err := f.Failure(ctx, image)
			Expect(err).To(MatchError(ContainSubstring("is not permitted")))
			Expect(install.Code(err)).To(Equal(codes.PermissionDenied))
			Expect(watch.Most(image)).To(BeZero())
		}
	})
})
