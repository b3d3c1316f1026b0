// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package smoke

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/krmfn/krmfn/e2e/install"
)

// function is a curated function that cluster load pushes.
const function = "set-labels:v0.2.0"

var _ = Describe("The cluster", Label("smoke"), Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx context.Context) {
		probe = f.PushProbe(ctx, "smoke")
		namespace = restrictedNamespace(ctx)
	})

	It("has a control plane and a worker, both ready", func(ctx context.Context) {
		nodes := nodes(ctx)
		Expect(nodes).To(HaveLen(2))
		server, err := f.Client.Discovery().ServerVersion()
		Expect(err).NotTo(HaveOccurred())
		for _, node := range nodes {
			Expect(node.Status.Conditions).To(ContainElement(SatisfyAll(
				HaveField("Type", corev1.NodeReady), HaveField("Status", corev1.ConditionTrue))), node.Name)
			Expect(node.Status.NodeInfo.KubeletVersion).To(Equal(server.GitVersion), node.Name)
		}
	})

	It("runs a program from an image volume as a user other than root", Label("image-volumes"), func(ctx context.Context) {
		pod := restricted("image-volume", probe.Reference, "/volume/probe", "id")
		pod.Spec.Volumes = []corev1.Volume{{Name: "program", VolumeSource: corev1.VolumeSource{
			Image: &corev1.ImageVolumeSource{Reference: probe.Reference},
		}}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "program", MountPath: "/volume", ReadOnly: true}}
		Expect(outputOf(ctx, pod)).To(Equal("10001\n"))
	})

	It("pulls an image from the registry by digest", func(ctx context.Context) {
		repository, _, _ := strings.Cut(probe.Reference, ":smoke")
		pod := restricted("by-digest", repository+"@"+probe.Digest.String(), "/probe", "id")
		Expect(outputOf(ctx, pod)).To(Equal("10001\n"))
		ran, err := f.Client.CoreV1().Pods(namespace).Get(ctx, pod.Name, metav1.GetOptions{})
		Expect(err).NotTo(HaveOccurred())
		Expect(ran.Status.ContainerStatuses[0].ImageID).To(HaveSuffix(probe.Digest.String()))
	})

	It("lets pods reach the registry", func(ctx context.Context) {
		pod := restricted("registry", probe.Reference, "/probe", "get", "http://"+f.Registry+"/v2/_catalog")
		Expect(outputOf(ctx, pod)).To(ContainSubstring(`"e2e/probe"`))
	})

	It("runs the image of a curated function", func(ctx context.Context) {
		pod := restricted("function", f.Registry+"/"+function)
		pod.Spec.Containers[0].Args = []string{"--help"}
		Expect(outputOf(ctx, pod)).To(ContainSubstring("set-labels"))
	})

	It("rejects pods that run as root", func(ctx context.Context) {
		pod := restricted("root", probe.Reference, "/probe", "id")
		pod.Spec.SecurityContext.RunAsNonRoot = new(false)
		_, err := f.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
		Expect(apierrors.IsForbidden(err)).To(BeTrue(), fmt.Sprint(err))
	})

	It("connects pods of different nodes, both ways, by the DNS names of Services", func(ctx context.Context) {
		nodes := nodes(ctx)
		for i, node := range nodes {
			name := fmt.Sprintf("server-%d", i)
			serve(ctx, name, node.Name)
			for j, other := range nodes {
				url := fmt.Sprintf("http://%s.%s.svc.cluster.local/", name, namespace)
				caller := on(restricted(fmt.Sprintf("%s-caller-%d", name, j), probe.Reference, "/probe", "get", url), other.Name)
				Expect(outputOf(ctx, caller)).To(Equal(name+"\n"), "from %s to %s", other.Name, node.Name)
			}
		}
	})
})

// nodes lists the nodes with a kubelet.
func nodes(ctx context.Context) []corev1.Node {
	GinkgoHelper()
	list, err := f.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	Expect(err).NotTo(HaveOccurred())
	return slices.DeleteFunc(list.Items, func(node corev1.Node) bool { return node.Name == install.Joining })
}

// serve starts an HTTP server in a pod on a node, and creates a Service for it.
func serve(ctx context.Context, name, node string) {
	pod := on(restricted(name, probe.Reference, "/probe", "serve", ":8080"), node)
	pod.Labels = map[string]string{"app": name}
	_, err := f.Client.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	_, err = f.Client.CoreV1().Services(namespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: pod.Labels,
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
}
