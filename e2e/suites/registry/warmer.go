// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package registry

import (
	"context"
	"maps"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/registry/private"
	"github.com/krmfn/krmfn/internal/cluster/functionpod"
)

var _ = Describe("With the image warmer", Label("registry"), func() {
	BeforeEach(open)

	// While the image warmer runs, it creates pods that pull images.
	AfterEach(func(ctx context.Context) { f.Configure(ctx, values()) })

	It("a function runner that has just started makes pods though the registry is down", func(ctx context.Context) {
		warmed, digest := push(ctx, "team/warmed:v1")
		unknown, _ := push(ctx, "team/not-warmed:v1")
		other, _ := push(ctx, "team/other:v1")
		with := maps.Clone(values())
		with["imageWarmer"] = map[string]any{"enabled": true, "images": []any{warmed}}
		begin := time.Now()
		f.Configure(ctx, with)
		warmUp(ctx)
		noneSees(ctx, begin, first)
		// The pod of this call stays, and keeps the pull secret accessible to the node. The first pod on a node that refers to the pull
		// secret can be too early for it; the kubelet then contacts the registry again for an image that the node already has.
		Expect(f.Evaluate(ctx, other)).To(Succeed())

		registry.SetFault(private.Hang)
		registry.Requests()
		Expect(f.Restart(ctx)).To(Succeed())
		Expect(f.Evaluate(ctx, warmed)).To(Succeed())
		Expect(digests(ctx, warmed)).To(ConsistOf(digest))
		By("calling without metadata and without a registry")
		Expect(callFor(ctx, unknown, 5*time.Second)).To(MatchError(ContainSubstring("the registry has not answered")))
	})

	// The node has no kubelet, so the spec sets the status of its pods.
	It("a new node pulls the images, and existing nodes do not pull them again", func(ctx context.Context) {
		image, _ := push(ctx, "team/joined:v1")
		with := maps.Clone(values())
		with["imageWarmer"] = map[string]any{
			"enabled": true, "images": []any{image}, "prepull": map[string]any{"tolerations": []any{install.Joining}},
		}
		f.Configure(ctx, with)
		warmUp(ctx)

		DeferCleanup(func(ctx context.Context) { Expect(f.LeaveNode(ctx)).To(Succeed()) })
		Expect(f.JoinNode(ctx)).To(Succeed())
		// The next periodic run is hours away.
		Eventually(ctx, pulls).WithTimeout(patience).WithPolling(200 * time.Millisecond).Should(ConsistOf(HaveField("Spec.NodeName", install.Joining)))
		pods, err := pulls(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(pods).To(HaveLen(1))
		Expect(pods[0].Annotations).To(HaveKeyWithValue(functionpod.ReferenceAnnotation, image))
		Expect(f.Succeed(ctx, &pods[0])).To(Succeed())
		Eventually(ctx, pulls).WithTimeout(patience).Should(BeEmpty())
	})
})

// warmUp waits until the image warmer has recorded the metadata of all images and the present nodes have pulled them. The first attempt can
// fail, and is retried after a minute.
func warmUp(ctx context.Context) {
	GinkgoHelper()
	By("waiting until the image warmer's first run has succeeded")
	const firstRun = 3 * time.Minute
	Eventually(ctx, warmerMetrics).WithTimeout(firstRun).WithPolling(time.Second).Should(MatchRegexp("(?m)^krm_warmer_last_success_timestamp_seconds"))
}

// pulls lists the pods that make nodes pull images.
func pulls(ctx context.Context) ([]corev1.Pod, error) {
	list, err := f.Client.CoreV1().Pods(f.Release.FunctionNamespace).List(ctx, metav1.ListOptions{LabelSelector: functionpod.WarmerLabel})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// warmerMetrics returns the metrics of the image warmer.
func warmerMetrics(ctx context.Context) (string, error) {
	pods := f.Client.CoreV1().Pods(f.Release.Namespace)
	list, err := pods.List(ctx, metav1.ListOptions{LabelSelector: "app=image-warmer", FieldSelector: "status.phase=Running"})
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, pod := range list.Items {
		page, err := pods.ProxyGet("http", pod.Name, "9464", "/metrics", nil).DoRaw(ctx)
		if err != nil {
			return "", err
		}
		text.Write(page)
	}
	return text.String(), nil
}

var _ = Describe("With an image policy", Label("registry"), func() {
	BeforeEach(open)

	It("rejected images are not requested from the registry, and others run", func(ctx context.Context) {
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
			Expect(watch.MaxLive(image)).To(BeZero())
		}
	})
})
