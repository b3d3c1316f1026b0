// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

var _ = Describe("A function that krmfn created", Ordered, func() {
	BeforeAll(configure)

	It("runs in a pod, as a worker", func(ctx context.Context) {
		root, err := binaries.Root()
		Expect(err).NotTo(HaveOccurred())
		dir := filepath.Join(GinkgoT().TempDir(), "add-owner")
		krmfn, err := binaries.Built(binaries.Krmfn)
		Expect(err).NotTo(HaveOccurred())
		_, err = command.Run(ctx, krmfn, "create", "function", "add-owner", "--output", dir, "--sdk", root)
		Expect(err).NotTo(HaveOccurred())
		sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600)).To(Succeed())
		outside := append(os.Environ(), "GOWORK=off")
		tidy := exec.CommandContext(ctx, "go", "-C", dir, "mod", "tidy")
		tidy.Env = outside
		_, err = command.Output(tidy)
		Expect(err).NotTo(HaveOccurred())

		image := f.Registry + "/e2e/add-owner:v0.1.0"
		create := exec.CommandContext(ctx, krmfn, "create", "image", dir, "--to", image, "--label", "krmfn.dev/worker=true")
		create.Env = outside
		pushed, err := command.Output(create)
		Expect(err).NotTo(HaveOccurred())
		Expect(pushed).To(HavePrefix(image + "@sha256:"))

		called, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		out, report, err := f.Caller(ctx).EvaluateReported(called, image, []byte(`apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: item}}
functionConfig: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {owner: shop-team}}
`))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(out)).To(ContainSubstring("example.com/owner: shop-team"))
		Expect(pushed).To(ContainSubstring(report.GetDigest()))
		Expect(onlyPodOf(ctx, image).Spec.Containers[0].Args).To(ContainElement("--worker"))
	})
})
