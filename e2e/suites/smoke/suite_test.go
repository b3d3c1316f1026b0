// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

// Package smoke checks that the cluster is fit for the other suites: what fails here is not krmfn's fault.
package smoke_test

import (
	"context"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/krmfn/krmfn/e2e/cluster"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/registry/ociimage"
	"github.com/krmfn/krmfn/e2e/registry/publish"
)

var (
	client    kubernetes.Interface
	registry  string        // address
	probe     publish.Image // of e2e/cmd/probe, which it finds at /probe
	namespace string        // enforces Pod Security "restricted"
)

func TestSmoke(t *testing.T) { //nolint:paralleltest // Ginkgo has its own way of it
	RegisterFailHandler(Fail)
	RunSpecs(t, "The cluster")
}

var _ = BeforeSuite(func(ctx context.Context) {
	checkout, err := binaries.Root()
	Expect(err).NotTo(HaveOccurred())
	c := cluster.Cluster{Kubeconfig: filepath.Join(checkout, "build", "kubeconfig")}
	client, err = c.Client()
	Expect(err).NotTo(HaveOccurred())
	registry, err = c.RegistryAddress(ctx)
	Expect(err).NotTo(HaveOccurred())
	probe = pushProbe(ctx)
	namespace = restrictedNamespace(ctx)
})

// pushProbe builds the probe and pushes an image of it.
func pushProbe(ctx context.Context) publish.Image {
	dir := GinkgoT().TempDir()
	Expect(binaries.Build(ctx, dir, binaries.Probe)).To(Succeed())
	binary := filepath.Join(dir, binaries.Probe)
	layer, err := ociimage.Layer(ociimage.Files{"probe": {Source: binary}})
	Expect(err).NotTo(HaveOccurred())
	img, err := ociimage.Image(runtime.GOARCH, v1.Config{User: "10001", Entrypoint: []string{"/probe"}}, layer)
	Expect(err).NotTo(HaveOccurred())
	pushed, err := publish.Push(ctx, registry+"/e2e/probe:smoke", img)
	Expect(err).NotTo(HaveOccurred())
	return pushed
}

// restrictedNamespace makes a namespace for the time of the suite, and returns when pods can be created there: without a service account
// they are refused.
func restrictedNamespace(ctx context.Context) string {
	made, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "smoke-",
		Labels:       map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.CoreV1().Namespaces().Delete(ctx, made.Name, metav1.DeleteOptions{})).To(Succeed())
	})
	Eventually(ctx, func() error {
		_, err := client.CoreV1().ServiceAccounts(made.Name).Get(ctx, "default", metav1.GetOptions{})
		return err
	}).WithTimeout(patience).WithPolling(100 * time.Millisecond).Should(Succeed())
	return made.Name
}
