// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/hostile"
)

const (
	templateName = "krmfn-function-pod-template"
	// readyTimeout is the ready timeout of pods in these specs.
	readyTimeout = 20 * time.Second
)

// porchTemplate is a typical pod template of Porch users. Annotations outside of the metadata have no effect.
const porchTemplate = `apiVersion: v1
kind: Pod
annotations:
  cluster-autoscaler.kubernetes.io/safe-to-evict: true
spec:
  securityContext: {runAsNonRoot: true, runAsUser: 20000}
  initContainers:
  - name: copy-wrapper-server
    image: %s
    command: [cp, -a, /home/nonroot/wrapper-server/., /wrapper-server-tools]
    volumeMounts: [{name: wrapper-server-tools, mountPath: /wrapper-server-tools}]
  containers:
  - name: function
    image: image-to-be-replaced
    command: [/wrapper-server-tools/wrapper-server]
    readinessProbe:
      exec: {command: [/wrapper-server-tools/grpc-health-probe, -addr, 'localhost:9446']}
    volumeMounts: [{name: wrapper-server-tools, mountPath: /wrapper-server-tools}]
  volumes: [{name: wrapper-server-tools, emptyDir: {}}]
`

var _ = Describe("A template of function pods", Label("smoke"), Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx context.Context) {
		var pod map[string]any
		Expect(yaml.Unmarshal(fmt.Appendf(nil, porchTemplate, f.WrapperImage()), &pod)).To(Succeed())
		f.Configure(ctx, map[string]any{
			"pods": limits(readyTimeout.String()),
			// The template does not satisfy the Pod Security Standard "restricted".
			"functionNamespace":   map[string]any{"podSecurity": "baseline"},
			"functionPodTemplate": map[string]any{"pod": pod},
		})
	})

	It("that was written for Porch is used unchanged", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		pod := onlyPodOf(ctx, image)
		Expect(pod.Spec.SecurityContext.RunAsUser).To(HaveValue(BeEquivalentTo(20000)))
		Expect(pod.Spec.InitContainers).To(ConsistOf(HaveField("Name", "copy-wrapper-server")))
		// The template's readiness probe also succeeds. The function runner does not wait for it.
		readyPod(ctx, image, "")
	})

	It("that was written for Porch runs functions whose images contain only the function", func(ctx context.Context) {
		Expect(f.Evaluate(ctx, f.Push(ctx, hostile.Bare))).To(Succeed())
	})

	It("that changes causes a replacement of its pods, without a restart of the function runner", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		before := onlyPodOf(ctx, image)
		runners, err := f.Runners(ctx)
		Expect(err).NotTo(HaveOccurred())
		edit(ctx, func(pod *corev1.Pod) { pod.Labels = map[string]string{"edited": "true"} })
		Eventually(ctx, func(g Gomega) {
			g.Expect(f.Evaluate(ctx, image)).To(Succeed())
			g.Expect(podsOf(ctx, image)).To(ConsistOf(HaveField("Labels", HaveKeyWithValue("edited", "true"))))
		}).WithTimeout(patience).WithPolling(time.Second).Should(Succeed())
		Expect(onlyPodOf(ctx, image).UID).NotTo(Equal(before.UID))
		after, err := f.Runners(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(uids(after)).To(Equal(uids(runners)))
	})

	It("whose pods never become ready fails calls after --pod-ready-timeout, or at their deadline", func(ctx context.Context) {
		edit(ctx, func(pod *corev1.Pod) {
			pod.Spec.Containers[0].Command = []string{hostile.Path, "stall"}
			pod.Spec.Containers[0].ReadinessProbe = nil
		})
		By("waiting until the template is in use")
		var err error
		Eventually(ctx, func() error {
			ctx, cancel := context.WithTimeout(ctx, 3*readyTimeout)
			defer cancel()
			image := f.Push(ctx, hostile.Echo)
			_, err = f.Caller(ctx).Evaluate(ctx, image, hostile.List(0))
			return err
		}).WithTimeout(patience).WithPolling(3 * time.Second).ShouldNot(Succeed())
		Expect(err).To(MatchError(SatisfyAll(ContainSubstring("--pod-ready-timeout"), ContainSubstring(readyTimeout.String()))))

		By("calling with a shorter deadline")
		image := f.Push(ctx, hostile.Echo)
		hurried, cancel := context.WithTimeout(ctx, readyTimeout/2)
		defer cancel()
		_, err = f.Caller(ctx).Evaluate(hurried, image, hostile.List(0))
		Expect(install.Code(err)).To(Equal(codes.DeadlineExceeded))
		Expect(err).To(MatchError(MatchRegexp(`context deadline exceeded after .*waiting for a pod [0-9.]+s.* does not answer yet`)))
	})
})

// edit changes the pod in the template's ConfigMap, like kubectl edit.
func edit(ctx context.Context, change func(*corev1.Pod)) {
	GinkgoHelper()
	maps := f.Client.CoreV1().ConfigMaps(f.Release.Namespace)
	template, err := maps.Get(ctx, templateName, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	var pod corev1.Pod
	Expect(yaml.Unmarshal([]byte(template.Data["template"]), &pod)).To(Succeed())
	change(&pod)
	text, err := yaml.Marshal(pod)
	Expect(err).NotTo(HaveOccurred())
	template.Data["template"] = strings.TrimSpace(string(text))
	_, err = maps.Update(ctx, template, metav1.UpdateOptions{})
	Expect(err).NotTo(HaveOccurred())
}
