// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signatures_test

import (
	"bytes"
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/providers/signatures/signaturetest"
)

// TestKeys verifies attached signatures with a rule for a key. want is a part of the error; "" means that the image is permitted.
func TestKeys(t *testing.T) {
	t.Parallel()
	signer, stranger := newSigner(t), newSigner(t)
	attests := ", attestations: [{predicateType: '" + provenance + "'}]"
	both := attests + "}, {keys: [{data: " + quoted(publicKey(t, signer)) + "}]"
	for title, tc := range map[string]struct {
		rule   string
		attach func(t testing.TB, image, other name.Digest)
		want   string
	}{
		"unsigned":                 {want: "signatures[0] of the image policy wants a signature by key signatures[0].keys[0], but none was found"},
		"tag":                      {attach: tag(signer.Simple)},
		"tag, another key":         {attach: tag(stranger.Simple), want: "another key signed it"},
		"tag, another key too":     {attach: tag(stranger.Simple, signer.Simple)},
		"tag, another image":       {attach: tagOfOther(signer.Simple), want: "it is about another image, sha256:"},
		"tag, payload changed":     {attach: tag(changed(signer.Simple)), want: "or it was changed after it was signed"},
		"tag, no signature":        {attach: tag(bare(signer.Simple)), want: "one cannot be read: its annotation dev.cosignproject.cosign/signature"},
		"bundle":                   {attach: refer(bundle(signer, signaturetest.PredicateSign))},
		"bundle, another key":      {attach: refer(bundle(stranger, signaturetest.PredicateSign)), want: "another key signed it"},
		"bundle, another image":    {attach: referOfOther(bundle(signer, signaturetest.PredicateSign)), want: "it is about another image"},
		"bundle, broken":           {attach: refer(changed(bundle(signer, signaturetest.PredicateSign))), want: "one cannot be read: "},
		"attestation only":         {attach: refer(bundle(signer, provenance)), want: "wants a signature by key signatures[0].keys[0], but none was found"},
		"attestation":              {rule: attests, attach: refer(bundle(signer, provenance))},
		"attestation, tag":         {rule: attests, attach: tag(envelope(signer, provenance))},
		"attestation missing":      {rule: attests, attach: tag(signer.Simple), want: `wants an attestation of type "` + provenance + `"`},
		"attestation, other type":  {rule: attests, attach: refer(bundle(signer, "https://example.org/v1")), want: "none was found"},
		"attestation, other image": {rule: attests, attach: tagOfOther(envelope(signer, provenance)), want: "it is about another image"},
		"attestation, another key": {rule: attests, attach: tag(envelope(stranger, provenance)), want: "another key signed it"},
		"both rules": {rule: both, attach: func(t testing.TB, image, other name.Digest) {
			t.Helper()
			tag(signer.Simple)(t, image, other)
			refer(bundle(signer, provenance))(t, image, other)
		}},
		"second rule": {rule: both, attach: refer(bundle(signer, provenance)), want: "signatures[1] of the image policy wants a signature"},
	} {
		for _, referrers := range []bool{true, false} {
			t.Run(title, func(t *testing.T) {
				t.Parallel()
				s := newServer(t, referrers)
				image, other := s.image(t), s.image(t)
				if tc.attach != nil {
					tc.attach(t, image, other)
				}
				p := parse(t, keyRule(t, signer, tc.rule))
				err := s.checker(t).Verify(t.Context(), p, image.Context().Name()+":v1", image.DigestStr())
				judge(t, err, image, tc.want)
			})
		}
	}
}

// judge checks that err is a RefusedError that contains want, or nil if want is "".
func judge(t testing.TB, err error, image name.Digest, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Error(err)
		}
		return
	}
	refused, ok := errors.AsType[*policy.RefusedError](err)
	if !ok || refused.Image != image.String() || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("Verify() = %v, want a RefusedError for %s with %q", err, image, want)
	}
}

type maker func(image name.Digest) (registry.Attached, error)

func bundle(s *signaturetest.Signer, predicateType string) maker {
	return func(image name.Digest) (registry.Attached, error) { return s.Bundle(image, predicateType) }
}

func envelope(s *signaturetest.Signer, predicateType string) maker {
	return func(image name.Digest) (registry.Attached, error) { return s.Envelope(image, predicateType) }
}

// changed modifies the signed content without changing its length.
func changed(m maker) maker {
	return func(image name.Digest) (registry.Attached, error) {
		a, err := m(image)
		a.Content = bytes.Replace(a.Content, []byte(`critical`), []byte(`Critical`), 1)
		a.Content = bytes.Replace(a.Content, []byte(`dsseEnvelope`), []byte(`dsseEnvelopf`), 1)
		return a, err
	}
}

// bare removes the signature.
func bare(m maker) maker {
	return func(image name.Digest) (registry.Attached, error) {
		a, err := m(image)
		maps.DeleteFunc(a.Annotations, func(string, string) bool { return true })
		return a, err
	}
}

func tag(all ...maker) func(t testing.TB, image, other name.Digest) {
	return func(t testing.TB, image, _ name.Digest) {
		t.Helper()
		var attached []registry.Attached
		for _, m := range all {
			attached = append(attached, must(t)(m(image)))
		}
		check(t, signaturetest.Tag(image, attached))
	}
}

func tagOfOther(m maker) func(t testing.TB, image, other name.Digest) {
	return func(t testing.TB, image, other name.Digest) {
		t.Helper()
		check(t, signaturetest.Tag(image, []registry.Attached{must(t)(m(other))}))
	}
}

func refer(m maker) func(t testing.TB, image, other name.Digest) {
	return func(t testing.TB, image, _ name.Digest) {
		t.Helper()
		check(t, signaturetest.Refer(image, must(t)(m(image))))
	}
}

func referOfOther(m maker) func(t testing.TB, image, other name.Digest) {
	return func(t testing.TB, image, other name.Digest) {
		t.Helper()
		check(t, signaturetest.Refer(image, must(t)(m(other))))
	}
}

func quoted(text string) string { return `"` + strings.ReplaceAll(text, "\n", `\n`) + `"` }
