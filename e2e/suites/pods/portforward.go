// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package pods

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written

	"github.com/krmfn/krmfn/e2e/install/hostile"
	"github.com/krmfn/krmfn/e2e/programs/binaries"
	"github.com/krmfn/krmfn/e2e/programs/command"
)

var _ = Describe("The command, through the API server", Label("smoke"), Ordered, func() {
	var dir, program, address string

	// krmfn runs the command with the kubeconfig of the cluster and returns its standard output.
	krmfn := func(ctx context.Context, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+f.Kubeconfig())
		return command.Output(cmd)
	}

	BeforeAll(func(ctx context.Context) {
		configure(ctx)
		dir, address = GinkgoT().TempDir(), "kube:"+f.Release.Namespace+"/function-runner"
		var err error
		program, err = binaries.Built(binaries.Krmfn)
		Expect(err).NotTo(HaveOccurred())
	})

	It("renders through the function runner's Service, also after its pod was replaced", func(ctx context.Context) {
		image := f.Push(ctx, hostile.Echo)
		pkg := filepath.Join(dir, "shop")
		Expect(os.Mkdir(pkg, 0o755)).To(Succeed())
		kptfile := "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: shop\npipeline:\n  mutators:\n    - image: " + image + "\n"
		Expect(os.WriteFile(filepath.Join(pkg, "Kptfile"), []byte(kptfile), 0o600)).To(Succeed())

		_, err := krmfn(ctx, "render", pkg, "--runner", address)
		Expect(err).NotTo(HaveOccurred())
		Expect(podsOf(ctx, image)).To(HaveLen(1))
		Expect(krmfn(ctx, "functions", "--runner", address+":9445")).To(ContainSubstring(image))

		runners, err := f.Runners(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(runners).To(HaveLen(1))
		Expect(f.Kill(ctx, runners[0].Namespace, runners[0].Name)).To(Succeed())
		Expect(f.AwaitReplaced(ctx, &runners[0])).To(Succeed())
		Expect(f.AwaitSettled(ctx)).To(Succeed())
		// The Service's endpoints follow the Deployment's status with a delay.
		Eventually(ctx, func(ctx context.Context) error {
			_, err := krmfn(ctx, "render", pkg, "--runner", address)
			return err
		}).WithTimeout(time.Minute).WithPolling(time.Second).Should(Succeed())
	})
})
