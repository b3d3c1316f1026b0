// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signatures_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/metric/noop"

	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/providers/signatures"
	"github.com/krmfn/krmfn/internal/providers/signatures/signaturetest"
)

// Arbitrary content of a registry is refused with an error of one line.
func FuzzAttached(f *testing.F) {
	signer, sigstore, image := newSigner(f), newSigstore(f), image(f)
	simple := must(f)(sigstore.simple(f, subject, time.Now().Add(5*time.Minute))(image))
	for _, seed := range []registry.Attached{
		simple, must(f)(signer.Simple(image)), must(f)(signer.Envelope(image, provenance)), must(f)(signer.Bundle(image, provenance)),
		must(f)(sigstore.bundle(f, subject, signaturetest.PredicateSign, time.Now().Add(5*time.Minute))(image)),
	} {
		f.Add(seed.MediaType, seed.Content, seed.Annotations["dev.cosignproject.cosign/signature"], seed.Annotations["dev.sigstore.cosign/certificate"],
			seed.Annotations["dev.sigstore.cosign/bundle"], seed.Annotations["dev.sigstore.cosign/rfc3161timestamp"])
	}
	// The signers of the policy have signed none of the seeds.
	p := newSigstore(f).policy(f, true, fmt.Sprintf("issuer: %q, subject: %q", issuer, subject), ", keys: [{data: "+quoted(publicKey(f, newSigner(f)))+"}]")
	f.Fuzz(func(t *testing.T, mediaType string, content []byte, signature, certificate, log, stamp string) {
		s := &source{attached: []registry.Attached{{MediaType: mediaType, Content: content, Annotations: map[string]string{
			"dev.cosignproject.cosign/signature": signature, "dev.sigstore.cosign/certificate": certificate,
			"dev.sigstore.cosign/bundle": log, "dev.sigstore.cosign/rfc3161timestamp": stamp,
		}}}}
		c, err := signatures.NewChecker(t.Context(), s, noop.NewMeterProvider().Meter(""))
		check(t, err)
		defer c.Close()
		err = c.Verify(t.Context(), p, image.String(), image.DigestStr())
		if _, ok := errors.AsType[*policy.RefusedError](err); !ok || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("Verify() = %v, want a RefusedError of one line", err)
		}
	})
}
