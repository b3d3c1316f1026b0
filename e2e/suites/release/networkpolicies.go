// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package release

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

var _ = Describe("With NetworkPolicies", Label("release"), func() {
	It("attackers' pods cannot connect to any port, and allowed callers only to their ports", func(ctx context.Context) {
		strangers, monitoring := makeNamespace(ctx, "strangers"), makeNamespace(ctx, "monitoring")
		client := secure(ctx)
		image := f.Push(ctx, hostile.Echo)
		// With TLS, function runners and task handlers have a port for health, too. Function pods always have it.
		values := map[string]any{
			"taskHandler": map[string]any{"enabled": true, "replicas": 1},
			"imageWarmer": map[string]any{"enabled": true, "images": []any{image}, "prepull": map[string]any{"enabled": false}},
			"tls":         map[string]any{"secret": secured, "clientCertificates": true},
			"pods":        map[string]any{"tls": map[string]any{"mode": "auto"}},
		}
		f.Configure(ctx, values)
		Expect(evaluate(ctx, client("spiffe://e2e/caller"), image)).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(f.UnenforcePolicies(ctx)).To(Succeed())
		})

		runner := f.AddressOf(ctx, f.Release.Namespace, "app=function-runner")
		tasks := f.AddressOf(ctx, f.Release.Namespace, "app=task-handler")
		pods, err := f.FunctionPods(ctx, image)
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(HaveLen(1))
		function := pods[0].Status.PodIP
		warmer := f.AddressOf(ctx, f.Release.Namespace, "app=image-warmer")
		calls, renders, evaluations := runner+":9445", tasks+":9447", function+":9446"
		metrics := []string{runner + ":9464", tasks + ":9464", function + ":9464", warmer + ":9464"}
		health := []string{runner + ":9448", tasks + ":9448", function + ":9448"}
		all := slices.Concat([]string{calls, renders, evaluations}, metrics, health)

		tricks := map[string]string{"app": "function-runner", "krmfn.dev/client": "true"}
		probe := f.NewProbe(ctx)
		open := map[string]func(context.Context) []string{
			"stranger": probe.Dial(ctx, strangers, "stranger", tricks, all),
			"function": probe.Dial(ctx, f.Release.FunctionNamespace, "attacker", tricks, all),
			"neighbor": probe.Dial(ctx, f.Release.Namespace, "neighbor", nil, all),
			"porch":    probe.Dial(ctx, f.Release.Namespace, "porch", map[string]string{"app": "porch-server"}, all),
			"client":   probe.Dial(ctx, f.Release.Namespace, "client", map[string]string{"krmfn.dev/client": "true"}, all),
			"monitor":  probe.Dial(ctx, monitoring, "monitor", nil, all),
		}
		values["networkPolicy"] = map[string]any{
			"callers":            []any{map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": "porch-server"}}}},
			"taskHandlerCallers": []any{},
			"metricsReaders": []any{map[string]any{"namespaceSelector": map[string]any{
				"matchLabels": map[string]any{corev1.LabelMetadataName: monitoring},
			}}},
		}
		f.Configure(ctx, values)
		Expect([]string{
			f.AddressOf(ctx, f.Release.Namespace, "app=function-runner"), f.AddressOf(ctx, f.Release.Namespace, "app=task-handler"),
			f.AddressOf(ctx, f.Release.FunctionNamespace, "krmfn.dev/pool"), f.AddressOf(ctx, f.Release.Namespace, "app=image-warmer"),
		}).To(Equal([]string{runner, tasks, function, warmer}), "a change of policies alone replaced pods")

		filtered, err := f.EnforcePolicies(ctx, nil, 9445, 9446, 9447, 9448, 9464)
		Expect(err).NotTo(HaveOccurred())
		GinkgoWriter.Printf("policies are enforced by a packet filter of the tests: %t\n", filtered)
		for who, want := range map[string][]string{
			"stranger": nil, "function": nil, "neighbor": nil,
			"porch": {calls}, "client": {calls, renders}, "monitor": metrics,
		} {
			Eventually(ctx, open[who]).WithTimeout(fixture.Patience).WithPolling(time.Second).Should(Equal(want), who)
		}
		Expect(f.UnenforcePolicies(ctx)).To(Succeed())
		if filtered {
			By("checking that the ports are open without the policies")
			Eventually(ctx, open["stranger"]).WithTimeout(fixture.Patience).WithPolling(time.Second).Should(Equal(all))
		}
	})
})

func makeNamespace(ctx context.Context, name string) string {
	GinkgoHelper()
	made, err := f.Client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		Expect(f.Client.CoreV1().Namespaces().Delete(ctx, made.Name, metav1.DeleteOptions{})).To(Succeed())
	})
	return made.Name
}
