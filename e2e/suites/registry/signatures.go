// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package registry

import (
	"context"
	"maps"

	"github.com/google/go-containerregistry/pkg/name"
	. "github.com/onsi/ginkgo/v2" //nolint:revive // the way that Ginkgo is written
	. "github.com/onsi/gomega"    //nolint:revive // the way that Gomega is written
	corev1 "k8s.io/api/core/v1"

	images "github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/providers/signatures/signaturetest"
)

// publicKeys is the name of the Secret with the public key of the trusted signer.
const publicKeys = "e2e-registry-public-keys"

var _ = Describe("With a policy that requires signatures", Label("registry"), func() {
	BeforeEach(open)

	AfterEach(func(ctx context.Context) {
		Expect(f.DeleteSecret(ctx, publicKeys)).To(Succeed())
	})

	It("signed images run, and no pods are created for others", func(ctx context.Context) {
		signer, err := signaturetest.NewSigner()
		Expect(err).NotTo(HaveOccurred())
		stranger, err := signaturetest.NewSigner()
		Expect(err).NotTo(HaveOccurred())
		key, err := signer.PublicKey()
		Expect(err).NotTo(HaveOccurred())
		Expect(f.PutSecret(ctx, publicKeys, corev1.SecretTypeOpaque, map[string][]byte{"team.pub": key})).To(Succeed())
		free, _ := push(ctx, "others/free:signatures")
		unsigned, _ := push(ctx, "team/unsigned:v1")
		tagged, digest := push(ctx, "team/tagged:v1")
		sign(ctx, tagged, digest, signer.Simple)
		referred, digest := push(ctx, "team/referred:v1")
		sign(ctx, referred, digest, func(image name.Digest) (images.Attached, error) {
			return signer.Bundle(image, signaturetest.PredicateSign)
		})
		forged, digest := push(ctx, "team/forged:v1")
		sign(ctx, forged, digest, stranger.Simple)

		with := maps.Clone(values())
		with["images"] = map[string]any{"ttl": ttl.String(), "publicKeysSecret": publicKeys, "policy": map[string]any{"signatures": []any{
			map[string]any{"prefix": registry.Address + "/team", "keys": []any{map[string]any{"file": "team.pub"}}},
		}}}
		f.Configure(ctx, with)
		for _, image := range []string{tagged, referred, free} {
			Expect(f.Evaluate(ctx, image)).To(Succeed())
		}
		watch := f.Watch(ctx)
		Expect(f.Failure(ctx, unsigned)).To(MatchError(SatisfyAll(
			ContainSubstring("PermissionDenied"), ContainSubstring("wants a signature by key team.pub"), ContainSubstring("none was found"))))
		Expect(f.Failure(ctx, forged)).To(MatchError(ContainSubstring("another key signed it")))
		Expect(watch.MaxLive(unsigned)).To(BeZero())
		Expect(watch.MaxLive(forged)).To(BeZero())

		By("calling again without requests to the registry")
		registry.Requests()
		for range 20 {
			Expect(f.Evaluate(ctx, tagged)).To(Succeed())
		}
		// The function runner looks tags up again after their TTL.
		Expect(registry.Requests()).To(BeNumerically("<", 15))
	})
})

// sign signs an image in the registry, either under cosign's tag or as a bundle that refers to the image.
func sign(ctx context.Context, image, digest string, how func(name.Digest) (images.Attached, error)) {
	GinkgoHelper()
	tag, err := name.NewTag(image)
	Expect(err).NotTo(HaveOccurred())
	signed := tag.Context().Digest(digest)
	attached, err := how(signed)
	Expect(err).NotTo(HaveOccurred())
	if images.IsBundle(attached.MediaType) {
		Expect(signaturetest.Refer(signed, attached, registry.Writing(ctx)...)).To(Succeed())
		return
	}
	Expect(signaturetest.Tag(signed, []images.Attached{attached}, registry.Writing(ctx)...)).To(Succeed())
}
