// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package release

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// All other specs use Helm 3.
var _ = Describe("With Helm 4", Label("release"), SpecPriority(1), func() {
	var helm func(ctx context.Context, args ...string)
	var chart string

	BeforeEach(func(ctx context.Context) {
		root, err := binaries.Root()
		Expect(err).NotTo(HaveOccurred())
		chart = filepath.Join(root, "charts", "krmfn")
		helm = helm4()
		Expect(f.Remove(ctx)).To(Succeed())
		f.Unconfigure()
		DeferCleanup(func(ctx context.Context) {
			Expect(f.Remove(ctx)).To(Succeed())
			f.Unconfigure()
		})
	})

	// local returns the values that every installation on this cluster needs. The tests call from this machine, so networkPolicy allows all
	// callers.
	local := func() string {
		return fmt.Sprintf("functionNamespace.keep=false,networkPolicy.callers[0].ipBlock.cidr=0.0.0.0/0,image.registry=%s/krmfn,image.tag=%s,functionNamespace.name=%s",
			f.Registry, f.Tag(), f.Release.FunctionNamespace)
	}

	It("the chart is installed, tested, upgraded, rolled back, and uninstalled without leftovers", func(ctx context.Context) {
		before := inventory(ctx)
		image := f.Push(ctx, hostile.Echo)
		answers := func() {
			GinkgoHelper()
			Expect(f.AwaitSettled(ctx)).To(Succeed())
			Expect(f.Evaluate(ctx, image)).To(Succeed())
		}
		helm(ctx, "install", f.Release.Name, chart, "--create-namespace", "--wait", "--set", local())
		answers()
		helm(ctx, "test", f.Release.Name)
		helm(ctx, "upgrade", f.Release.Name, chart, "--wait", "--reset-then-reuse-values", "--set", "pods.maxConcurrentEvaluationsPerPod=5")
		answers()
		helm(ctx, "rollback", f.Release.Name, "--wait")
		answers()
		helm(ctx, "uninstall", f.Release.Name, "--wait")
		Eventually(ctx, leftovers).WithArguments(before).WithTimeout(deletionTimeout).WithPolling(time.Second).Should(BeEmpty())
	})

	It("a release of Helm 3 is upgraded under load without failed calls, and Helm 3 rolls it back", func(ctx context.Context) {
		f.Configure(ctx, map[string]any{"replicas": 2, "shutdownDelay": install.ShutdownDelay})
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)
		helm(ctx, "upgrade", f.Release.Name, chart, "--wait", "--reset-then-reuse-values", "--set", "pods.maxConcurrentEvaluationsPerPod=5")
		Expect(f.AwaitSettled(ctx)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 200)
		Expect(f.Rollback(ctx)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 200)
		Expect(calls.Stop()).To(BeEmpty())
		helm(ctx, "uninstall", f.Release.Name, "--wait")
	})

	It("Porch's function runner is replaced under load without failed calls", func(ctx context.Context) {
		porch, err := f.InstallPorch(ctx)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func(ctx context.Context) {
			Expect(f.Remove(ctx)).To(Succeed())
			Expect(porch.Delete(ctx)).To(Succeed())
		})
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)
		helm(ctx, "install", f.Release.Name, chart, "--wait", "--take-ownership", "--server-side=false",
			"--set", local()+",replicas=1,functionNamespace.create=false")
		Expect(f.AwaitSettled(ctx)).To(Succeed())
		fixture.AwaitCalls(ctx, calls, 100)
		Expect(calls.Stop()).To(BeEmpty())
	})
})

// helm4 returns a function that runs Helm 4 in the release's namespace. The Makefile pins the version, builds it, and sets HELM4 to its
// path.
func helm4() func(context.Context, ...string) {
	GinkgoHelper()
	path := os.Getenv("HELM4")
	Expect(path).NotTo(BeEmpty(), "HELM4 is not set: run the suites with make e2e")
	home := GinkgoT().TempDir()
	return func(ctx context.Context, args ...string) {
		GinkgoHelper()
		By("helm " + args[0])
		helm := exec.CommandContext(ctx, path, append(args, "--namespace", f.Release.Namespace)...)
		helm.Env = append(os.Environ(), "KUBECONFIG="+f.Kubeconfig(),
			"HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
		_, err := command.Output(helm)
		Expect(err).NotTo(HaveOccurred())
	}
}
