// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package smoke

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

var _ = Describe("The machine's container engine", Label("smoke"), func() {
	It("runs a function for the packages of krmfn render, and keeps no container", func(ctx context.Context) {
		dir := GinkgoT().TempDir()
		krmfn, err := binaries.Built(binaries.Krmfn)
		Expect(err).NotTo(HaveOccurred())
		image := load(ctx, dir)
		for _, pkg := range []string{"shop", "shop/cart", "shop/stock"} {
			writePackage(filepath.Join(dir, pkg), image)
		}
		render := exec.CommandContext(ctx, krmfn, "render", filepath.Join(dir, "shop"), "-v", "--runtime", "docker", "--image-pull-policy", "never")
		output, err := render.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(output))
		Expect(string(output)).To(ContainSubstring("(docker)"))
		for _, pkg := range []string{"shop", "shop/cart", "shop/stock"} {
			Expect(os.ReadFile(filepath.Join(dir, pkg, "config.yaml"))).To(ContainSubstring("tier: web"))
		}
		Expect(command.Run(ctx, "docker", "ps", "--all", "--quiet", "--filter", "label=dev.krmfn.function")).To(BeEmpty())
	})
})

// load copies a curated function from the registry into the engine and returns its name. The engine cannot pull it, because it expects the
// registry to use TLS.
func load(ctx context.Context, dir string) string {
	const loaded = "krmfn.example/e2e-" + function
	ref, err := name.ParseReference(f.Registry + "/" + function)
	Expect(err).NotTo(HaveOccurred())
	img, err := remote.Image(ref, remote.WithContext(ctx))
	Expect(err).NotTo(HaveOccurred())
	tag, err := name.NewTag(loaded)
	Expect(err).NotTo(HaveOccurred())
	archive := filepath.Join(dir, "image.tar")
	Expect(tarball.WriteToFile(archive, tag, img)).To(Succeed())
	_, err = command.Run(ctx, "docker", "load", "--input", archive)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) {
		_, err := command.Run(ctx, "docker", "rmi", loaded)
		Expect(err).NotTo(HaveOccurred())
	})
	return loaded
}

// writePackage writes a package with one resource and a function that labels it.
func writePackage(dir, image string) {
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	kptfile := fmt.Sprintf("apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: %s\npipeline:\n  mutators:\n    - image: %s\n      configMap:\n        tier: web\n", filepath.Base(dir), image)
	Expect(os.WriteFile(filepath.Join(dir, "Kptfile"), []byte(kptfile), 0o600)).To(Succeed())
	resource := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + filepath.Base(dir) + "\n"
	Expect(os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(resource), 0o600)).To(Succeed())
}
