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
	"strings"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/install/hostile"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

// publishedChart is the reference of the chart in the README's commands.
const publishedChart = "oci://ghcr.io/krmfn/charts/krmfn"

var _ = Describe("The README", Label("release", "smoke"), func() {
	It("installs the chart from a registry with its commands", func(ctx context.Context) {
		root, err := binaries.Root()
		Expect(err).NotTo(HaveOccurred())
		readme, err := os.ReadFile(filepath.Join(root, "README.md"))
		Expect(err).NotTo(HaveOccurred())
		_, after, found := strings.Cut(string(readme), "Into a cluster, with [Helm](https://helm.sh):\n\n```\n")
		Expect(found).To(BeTrue())
		commands, _, _ := strings.Cut(after, "```")
		Expect(strings.Count(commands, publishedChart)).To(Equal(1))

		Expect(f.Remove(ctx)).To(Succeed())
		f.Unconfigure()
		DeferCleanup(func(ctx context.Context) { Expect(f.Remove(ctx)).To(Succeed()) })
		helm, err := command.Run(ctx, "go", "tool", "-n", "helm")
		Expect(err).NotTo(HaveOccurred())
		dir := GinkgoT().TempDir()
		run := func(script string) {
			GinkgoHelper()
			sh := exec.CommandContext(ctx, "sh", "-ec", script)
			sh.Env = append(os.Environ(), "PATH="+filepath.Dir(strings.TrimSpace(helm))+":"+os.Getenv("PATH"), "KUBECONFIG="+f.Kubeconfig(), "HELM_CACHE_HOME="+dir)
			_, err := command.Output(sh)
			Expect(err).NotTo(HaveOccurred())
		}
		run(fmt.Sprintf("helm package %s --destination %s\nhelm push %s/krmfn-*.tgz oci://%s/charts --plain-http",
			filepath.Join(root, "charts", "krmfn"), dir, dir, f.Registry))
		// The cluster's registry replaces the published registry, and the images of this checkout replace the released images.
		local := fmt.Sprintf("oci://%s/charts/krmfn --plain-http --wait --set functionNamespace.keep=false,functionNamespace.name=%s,image.registry=%s/krmfn,image.tag=%s",
			f.Registry, f.Release.FunctionNamespace, f.Registry, f.Tag())
		run(strings.NewReplacer(publishedChart, local, install.Default.Namespace, f.Release.Namespace).Replace(commands))
		Expect(f.AwaitSettled(ctx)).To(Succeed())
		Expect(f.Evaluate(ctx, f.Push(ctx, hostile.Echo))).To(Succeed())
	})
})
