// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package release

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

var _ = Describe("The quickstart", Label("release"), func() {
	It("renders a package with its commands", func(ctx context.Context) {
		root, err := binaries.Root()
		Expect(err).NotTo(HaveOccurred())
		page, err := os.ReadFile(filepath.Join(root, "docs", "quickstart.md"))
		Expect(err).NotTo(HaveOccurred())
		program, err := binaries.Built(binaries.Krmfn)
		Expect(err).NotTo(HaveOccurred())
		dir := GinkgoT().TempDir()

		// The installation of this process, its programs and a temporary directory replace those of the page.
		local := strings.NewReplacer("bin/krmfn", program, "build/web-shop", dir, "examples/web-shop", "examples/web-shop/.",
			install.Default.Namespace+"/", f.Release.Namespace+"/")
		run := func(heading string) string {
			GinkgoHelper()
			_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
			Expect(found).To(BeTrue())
			_, section, _ = strings.Cut(section, "```\n")
			commands, _, _ := strings.Cut(section, "```")
			sh := exec.CommandContext(ctx, "sh", "-ec", local.Replace(commands))
			sh.Dir, sh.Env = root, append(os.Environ(), "KUBECONFIG="+f.Kubeconfig())
			out, err := command.Output(sh)
			Expect(err).NotTo(HaveOccurred())
			return out
		}

		f.Configure(ctx, map[string]any{"extraArgs": []any{}})
		run("2. Render a package")
		rendered, err := os.ReadFile(filepath.Join(dir, "storefront.yaml"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(rendered)).To(ContainSubstring("namespace: web-shop"))
		Expect(run("3. Run a function in a pod")).To(ContainSubstring("functions"))
	})
})
