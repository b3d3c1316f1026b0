// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	"google.golang.org/grpc/codes"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("Calls fail at once with the reason, for", Label("smoke"), Ordered, ContinueOnFailure, func() {
	BeforeAll(configure)

	DescribeTable("an image that does not exist", func(ctx context.Context, name string) {
		f.PushAs(ctx, hostile.Echo, "e2e/there:v1")
		watch := f.Watch(ctx)
		err := f.Failure(ctx, f.Registry+"/"+name)
		Expect(err).To(MatchError(SatisfyAll(
			ContainSubstring("unable to get the grpc client to the pod for "+f.Registry+"/"+name),
			MatchRegexp("(MANIFEST|NAME)_UNKNOWN"),
		)))
		Expect(watch.MaxLive(f.Registry + "/" + name)).To(BeZero())
	},
		Entry("tag", "e2e/there:no-such-tag"),
		Entry("repository", "e2e/no-such-repository:v1"),
		Entry("digest", "e2e/there@sha256:0123456789012345678901234567890123456789012345678901234567890123"),
	)

	It("a function that exits: exit code, stderr and results are in the status", func(ctx context.Context) {
		err := f.Failure(ctx, f.Push(ctx, hostile.Exit))
		Expect(install.Code(err)).To(Equal(codes.Internal))
		Expect(err).To(MatchError(SatisfyAll(ContainSubstring(hostile.Message), ContainSubstring(hostile.Stderr))))
		report := install.Report(err)
		Expect(report).NotTo(BeNil())
		Expect(report.GetExitCode()).To(BeEquivalentTo(hostile.ExitCode))
		Expect(string(report.GetStderr())).To(ContainSubstring(hostile.Stderr))
		Expect(report.GetResults()).To(ConsistOf(HaveField("Message", hostile.Message)))
	})

	DescribeTable("a function that needs permissions which the built-in template does not grant", func(ctx context.Context, mode hostile.Mode, reason string) {
		err := f.Failure(ctx, f.Push(ctx, mode))
		Expect(err).To(MatchError(SatisfyAll(ContainSubstring(reason), ContainSubstring("--function-pod-template"))))
	},
		Entry("to run as root", hostile.NeedsRoot, "permission denied"),
		Entry("to write to the root directory", hostile.WritesRoot, "read-only file system"),
	)

	It("a pod that fits on no node", func(ctx context.Context) {
		err := f.Failure(ctx, unschedulable)
		Expect(err).To(MatchError(ContainSubstring("Insufficient cpu")))
	})

	It("a pod that exceeds a quota", func(ctx context.Context) {
		Expect(f.LimitPods(ctx, 0)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(f.UnlimitPods(ctx)).To(Succeed()) })
		err := f.Failure(ctx, f.Push(ctx, hostile.Echo))
		Expect(err).To(MatchError(ContainSubstring("exceeded quota")))
	})
})
