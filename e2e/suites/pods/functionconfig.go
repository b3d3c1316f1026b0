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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/e2e/install/hostile"
)

// porchFinalizer is the finalizer that Porch's function runner adds to FunctionConfig objects.
const porchFinalizer = "config.porch.kpt.dev/functionconfig-function-runner"

var _ = Describe("A FunctionConfig object", Label("smoke"), Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx context.Context) {
		Expect(f.DefineFunctionConfigs(ctx)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(f.UndefineFunctionConfigs(ctx)).To(Succeed()) })
		// Without --disable-runtimes=exec, the function runner uses the executables in its image.
		f.Configure(ctx, map[string]any{"pods": limits("30s"), "extraArgs": []any{"--function-configs=auto"}})
	})

	It("selects executables for functions, and changes take effect", func(ctx context.Context) {
		const image = "example.invalid/fns/local"
		declare(ctx, "local", `{image: local, prefixes: [example.invalid/fns/], binaryExecutor: {tags: [v1], path: remove-local-config-resources}}`)
		Expect(errorOf(ctx, "local")).To(BeEmpty())
		Expect(runs(ctx, image+":v1")).To(Succeed())
		By("calling images that it does not select")
		Expect(runs(ctx, image+":v2")).NotTo(Succeed())
		Expect(runs(ctx, "example.invalid/fns-evil/local:v1")).NotTo(Succeed())
		By("changing it")
		declare(ctx, "local", `{image: local, prefixes: [example.invalid/fns], binaryExecutor: {tags: [v2], path: remove-local-config-resources}}`)
		Expect(runs(ctx, image+":v2")).To(Succeed())
		Expect(runs(ctx, image+":v1")).NotTo(Succeed())
		By("deleting it")
		Expect(f.FunctionConfigs().Delete(ctx, "local", metav1.DeleteOptions{})).To(Succeed())
		Eventually(ctx, runs).WithArguments(ctx, image+":v2").WithTimeout(promptly).ShouldNot(Succeed())
	})

	It("has its errors in its status", func(ctx context.Context) {
		declare(ctx, "broken", `{image: broken, binaryExecutor: {tags: [v1], path: no-such-executable}}`)
		Expect(errorOf(ctx, "broken")).To(SatisfyAll(HavePrefix("function-runner: "), ContainSubstring("no-such-executable is missing")))
		declare(ctx, "broken", `{image: broken, podExecutor: {}}`)
		Expect(errorOf(ctx, "broken")).To(BeEmpty())
	})

	It("has an error in its status if function pods have no init container that it could change", Label("image-volumes"), func(ctx context.Context) {
		declare(ctx, "initial", `{image: initial, podExecutor: {templateOverrides: {initContainer: {env: [{name: A, value: "1"}]}}}}`)
		Expect(errorOf(ctx, "initial")).To(ContainSubstring("no init container"))
	})

	It("configures the pods of a function, and is the reason for pods before the first call", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		slash, colon := strings.LastIndex(image, "/"), strings.LastIndex(image, ":")
		spec := func(greeting string) string {
			return `{image: ` + image[slash+1:colon] + `, prefixes: ["` + image[:slash] + `"], podExecutor: {tags: [` + image[colon+1:] + `], maxParallelExecutions: 1, ` +
				`templateOverrides: {container: {resources: {requests: {cpu: 11m}}, env: [{name: GREETING, value: ` + greeting + `}]}}}}`
		}
		declare(ctx, "echo", spec("hello"))
		Expect(errorOf(ctx, "echo")).To(BeEmpty())
		before := readyPod(ctx, image, "")
		Expect(before.Spec.Containers[0].Env).To(ofPod("hello"))
		Expect(before.Spec.Containers[0].Resources.Requests.Cpu().String()).To(Equal("11m"))
		By("making concurrent calls, which would create more pods without the maximum")
		Expect(atOnce(ctx, 3, image, time.Second)).To(HaveEach(Succeed()))
		Expect(onlyPodOf(ctx, image).UID).To(Equal(before.UID))
		By("changing it")
		declare(ctx, "echo", spec("other"))
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(podsOf(ctx, image)).To(ConsistOf(HaveField("Spec.Containers", ContainElement(HaveField("Env", ofPod("other"))))))
		}).WithTimeout(patience).WithPolling(time.Second).Should(Succeed())
	})

	It("declares with annotations how a function runs", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		slash, colon := strings.LastIndex(image, "/"), strings.LastIndex(image, ":")
		declare(ctx, "echo", `{image: `+image[slash+1:colon]+`, prefixes: ["`+image[:slash]+`"], podExecutor: {tags: [`+image[colon+1:]+`]}}`)
		Expect(f.Evaluate(ctx, image)).To(Succeed())
		Expect(onlyPodOf(ctx, image).Spec.Containers[0].Args).NotTo(ContainElement("--standby-processes"))
		annotate(ctx, "echo", "no")
		Eventually(ctx, errorOf).WithArguments(ctx, "echo").WithTimeout(promptly).Should(ContainSubstring(`krmfn.dev/standby is "no", want true or false`))
		annotate(ctx, "echo", "false")
		Eventually(ctx, errorOf).WithArguments(ctx, "echo").WithTimeout(promptly).Should(BeEmpty())
		Eventually(ctx, func(g Gomega) {
			g.Expect(f.Evaluate(ctx, image)).To(Succeed())
			g.Expect(podsOf(ctx, image)).To(ConsistOf(HaveField("Spec.Containers", ContainElement(HaveField("Args", ContainElements("--standby-processes", "0"))))))
		}).WithTimeout(patience).WithPolling(time.Second).Should(Succeed())
	})

	It("that Porch's function runner has used can be deleted", func(ctx context.Context) {
		declare(ctx, "held", `{image: held, podExecutor: {}}`)
		patch := fmt.Appendf(nil, `{"metadata": {"finalizers": [%q]}}`, porchFinalizer)
		_, err := f.FunctionConfigs().Patch(ctx, "held", types.MergePatchType, patch, metav1.PatchOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(f.FunctionConfigs().Delete(ctx, "held", metav1.DeleteOptions{})).To(Succeed())
		Eventually(ctx, func() bool {
			_, err := f.FunctionConfigs().Get(ctx, "held", metav1.GetOptions{})
			return apierrors.IsNotFound(err)
		}).WithTimeout(promptly).Should(BeTrue())
	})
})

// declare creates or updates an object, and waits until function runners have observed it.
func declare(ctx context.Context, name, spec string) {
	GinkgoHelper()
	var fields map[string]any
	Expect(yaml.Unmarshal([]byte(spec), &fields)).To(Succeed())
	object, err := f.FunctionConfigs().Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		object = &unstructured.Unstructured{Object: map[string]any{"apiVersion": "config.porch.kpt.dev/v1alpha1", "kind": "FunctionConfig", "spec": fields}}
		object.SetName(name)
		_, err = f.FunctionConfigs().Create(ctx, object, metav1.CreateOptions{})
	} else if err == nil {
		object.Object["spec"] = fields
		_, err = f.FunctionConfigs().Update(ctx, object, metav1.UpdateOptions{})
	}
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, func(g Gomega) {
		object, err = f.FunctionConfigs().Get(ctx, name, metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		seen, _, err := unstructured.NestedInt64(object.Object, "status", "functionRunnerObservedGeneration")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(seen).To(Equal(object.GetGeneration()))
	}).WithTimeout(promptly).WithPolling(100 * time.Millisecond).Should(Succeed())
}

// annotate sets the annotation that allows or forbids standby processes.
func annotate(ctx context.Context, name, standby string) {
	GinkgoHelper()
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {"krmfn.dev/standby": %q}}}`, standby)
	_, err := f.FunctionConfigs().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{})
	Expect(err).NotTo(HaveOccurred())
}

// errorOf returns the error in the status of an object.
func errorOf(ctx context.Context, name string) string {
	GinkgoHelper()
	object, err := f.FunctionConfigs().Get(ctx, name, metav1.GetOptions{})
	Expect(err).NotTo(HaveOccurred())
	text, _, err := unstructured.NestedString(object.Object, "status", "error")
	Expect(err).NotTo(HaveOccurred())
	return text
}

// runs calls a function and ignores its output.
func runs(ctx context.Context, image string) error {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, promptly)
	defer cancel()
	_, err := f.Caller(ctx).Evaluate(ctx, image, hostile.List(0))
	return err
}

// ofPod matches the environment of a function pod: the variable GREETING, and the variables that the function runner adds.
func ofPod(greeting string) OmegaMatcher {
	told := func(name string) OmegaMatcher { return HaveField("Name", name) }
	return ConsistOf(corev1.EnvVar{Name: "GREETING", Value: greeting}, told("KRMFN_POD_UID"), told("KRMFN_FUNCTION"), told("KRMFN_RUNNER_AUTHORITIES"))
}
