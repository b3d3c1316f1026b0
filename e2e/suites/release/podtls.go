// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package release

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/fixture"
	"github.com/krmfn/krmfn/e2e/install/hostile"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

const (
	// podAuthority is the name of the Secret with the certificate authority for function pods.
	podAuthority = "function-pod-ca"
	// renewalTimeout is the time limit for function runners to notice a change of the Secret.
	renewalTimeout = 2 * time.Minute
)

var _ = Describe("With TLS between function runners and function pods", Label("release"), SpecPriority(1), func() {
	functionPods := func(ctx context.Context) []corev1.Pod {
		GinkgoHelper()
		list, err := f.Client.CoreV1().Pods(f.Release.FunctionNamespace).List(ctx, metav1.ListOptions{LabelSelector: functionpod.PoolLabel})
		Expect(err).NotTo(HaveOccurred())
		return list.Items
	}
	authority := func(ctx context.Context) []byte {
		GinkgoHelper()
		secret, err := f.Client.CoreV1().Secrets(f.Release.Namespace).Get(ctx, podAuthority, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		return secret.Data[corev1.TLSCertKey]
	}

	It("function pods reject other callers", func(ctx context.Context) {
		f.Configure(ctx, map[string]any{"pods": map[string]any{"tls": map[string]any{"mode": "auto"}}})
		Expect(f.Evaluate(ctx, f.Push(ctx, hostile.Echo))).To(Succeed())
		pods := functionPods(ctx)
		Expect(pods).NotTo(BeEmpty())
		for _, pod := range pods {
			Expect(pod.Annotations).To(HaveKey(functionpod.AuthoritiesAnnotation))
			// The API server's proxy connects to the pod without a certificate that the pod trusts. The pod can close the connection before
			// the API server has read the reason, so the check is repeated.
			for scheme, refusal := range map[string]string{"https": "certificate required", "http": "EOF"} {
				Eventually(ctx, func(g Gomega) {
					answer, err := f.Client.CoreV1().RESTClient().Get().Namespace(pod.Namespace).Resource("pods").Name(scheme + ":" + pod.Name + ":9446").
						SubResource("proxy").DoRaw(ctx)
					Expect(apierrors.IsServiceUnavailable(err)).To(BeTrue(), "%v", err) // The API server must reject each attempt.
					g.Expect(string(answer)).To(ContainSubstring(refusal))
				}).WithTimeout(10 * time.Second).WithPolling(100 * time.Millisecond).Should(Succeed())
			}
		}
	})

	It("no call fails while TLS is turned on and off, and while an authority is replaced or its Secret deleted", func(ctx context.Context) {
		with := func(mode string) map[string]any {
			// Function runners read the Secret a hundred times within the lifetime of an authority.
			tls := map[string]any{"mode": mode, "caLifetime": "30m"}
			return map[string]any{"replicas": 2, "shutdownDelay": install.ShutdownDelay, "pods": map[string]any{"tls": tls}}
		}
		f.Configure(ctx, with("off"))
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		calls := f.Load(ctx, f.Callers(ctx, callers), image, work)
		fixture.AwaitCalls(ctx, calls, 100)
		f.Configure(ctx, with("auto"))
		fixture.AwaitCalls(ctx, calls, 200)
		before := authority(ctx)
		Expect(before).NotTo(BeEmpty())
		secrets := f.Client.CoreV1().Secrets(f.Release.Namespace)
		secret, err := secrets.Patch(ctx, podAuthority, types.JSONPatchType, []byte(`[{"op": "remove", "path": "/data"}]`), metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, authority).WithTimeout(renewalTimeout).WithPolling(time.Second).ShouldNot(Or(BeEmpty(), Equal(before)))
		fixture.AwaitCalls(ctx, calls, 200)

		By("deleting the Secret, which function runners may not create, and creating it again")
		before = authority(ctx)
		begin := time.Now()
		Expect(f.DeleteSecret(ctx, podAuthority)).To(Succeed())
		Eventually(ctx, f.Logs).WithArguments(begin).WithTimeout(renewalTimeout).WithPolling(time.Second).Should(ContainSubstring(
			"the certificate authorities for function pods are not up to date"))
		fixture.AwaitCalls(ctx, calls, 200)
		secret.ObjectMeta = metav1.ObjectMeta{Name: podAuthority, Labels: secret.Labels, Annotations: secret.Annotations}
		_, err = secrets.Create(ctx, secret, metav1.CreateOptions{})
		Expect(err).NotTo(HaveOccurred())
		Eventually(ctx, authority).WithTimeout(renewalTimeout).WithPolling(time.Second).ShouldNot(Or(BeEmpty(), Equal(before)))
		fixture.AwaitCalls(ctx, calls, 200)
		f.Configure(ctx, with("off"))
		fixture.AwaitCalls(ctx, calls, 200)
		Expect(calls.Stop()).To(BeEmpty())
	})
})
