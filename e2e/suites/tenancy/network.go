// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package tenancy

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
)

func describeNetwork() {
	Describe("With the NetworkPolicies of two installations", func() {
		It("pods of one installation cannot connect to function runners or function pods of the other, whatever their labels", func(ctx context.Context) {
			DeferCleanup(func(ctx context.Context) { Expect(a.UnenforcePolicies(ctx)).To(Succeed()) })
			image := push(ctx, shared)
			for _, f := range []*fixture.Fixture{a, b} {
				Expect(f.Evaluate(ctx, image)).To(Succeed())
				f.Configure(ctx, with(f, map[string]any{"networkPolicy": install.MergeValues(documentedPolicy(f), map[string]any{
					"taskHandlerCallers": []any{}, "metricsReaders": []any{},
				})}))
			}
			runnerA, functionA := addresses(ctx, a)
			runnerB, functionB := addresses(ctx, b)
			ofA := []string{runnerA + ":9445", runnerA + ":9464", functionA + ":9446", functionA + ":9464"}
			callsA, callsB, evaluationsB := runnerA+":9445", runnerB+":9445", functionB+":9446"
			all := slices.Concat(ofA, []string{callsB, evaluationsB})

			probe := a.NewProbe(ctx)
			runner, client := map[string]string{"app": "function-runner"}, map[string]string{"krmfn.dev/client": "true"}
			caller := map[string]string{"app": "package-controller"} // the label in the documentation
			function := probe.Dial(ctx, b.Release.FunctionNamespace, "function", map[string]string{"app": "function-runner", "krmfn.dev/client": "true"}, all)
			open := []struct {
				who     string
				reaches func(context.Context) []string
				want    []string
			}{
				{"a function of team-b", function, nil},
				{"a function runner of team-b", probe.Dial(ctx, b.Release.Namespace, "runner", runner, all), []string{evaluationsB}},
				{"a client of team-b", probe.Dial(ctx, b.Release.Namespace, "client", client, all), []string{callsB}},
				{"a caller of team-b", probe.Dial(ctx, b.Release.Namespace, "caller", caller, all), []string{callsB}},
				{"a caller of team-a", probe.Dial(ctx, a.Release.Namespace, "caller", caller, all), []string{callsA}},
			}
			filtered, err := a.EnforcePolicies(ctx, []install.Release{b.Release}, 9445, 9446, 9464)
			Expect(err).NotTo(HaveOccurred())
			GinkgoWriter.Printf("policies are enforced by a packet filter of the tests: %t\n", filtered)
			for _, o := range open {
				Eventually(ctx, o.reaches).WithTimeout(fixture.Patience).WithPolling(time.Second).Should(Equal(o.want), o.who)
			}
			Expect(a.UnenforcePolicies(ctx)).To(Succeed())
			if filtered {
				By("checking that the ports are open without the policies")
				Eventually(ctx, function).WithTimeout(fixture.Patience).WithPolling(time.Second).Should(Equal(all))
			}
		})
	})
}

func documentedPolicy(f *fixture.Fixture) map[string]any {
	GinkgoHelper()
	policy, ok := documented(f)["networkPolicy"].(map[string]any)
	Expect(ok).To(BeTrue())
	return policy
}

// addresses returns the IP addresses of an installation's only function runner and only function pod.
func addresses(ctx context.Context, f *fixture.Fixture) (runner, function string) {
	GinkgoHelper()
	return f.AddressOf(ctx, f.Release.Namespace, "app=function-runner"), f.AddressOf(ctx, f.Release.FunctionNamespace, install.PoolLabel)
}
