// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package signatures verifies that images have the signatures that an image policy requires. It is a separate module, so that only
// binaries that verify signatures depend on Sigstore's modules.
package signatures

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"fmt"
	"time"

	"github.com/sigstore/sigstore-go/pkg/root"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature"

	"github.com/krmfn/krmfn/internal/images/policy"
)

// ruleVerifier contains the verifiers for a rule.
type ruleVerifier struct {
	rule *policy.SignatureRule
	// keys verify signatures with a key. certificates verifies signatures with a certificate, and may be nil.
	keys         []*verify.Verifier
	certificates *verify.Verifier
}

// Check returns an error if a rule of the policy cannot be used, for example because its trusted root is invalid.
func Check(p *policy.Policy) error {
	for _, rule := range p.SignatureRules() {
		if _, err := newRuleVerifier(rule); err != nil {
			return fmt.Errorf("%s: %w", rule.Name, err)
		}
	}
	return nil
}

func newRuleVerifier(rule *policy.SignatureRule) (*ruleVerifier, error) {
	t := &ruleVerifier{rule: rule}
	for _, key := range rule.Keys {
		verifiers, err := keyVerifiers(key.Key)
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", key.Name, err)
		}
		t.keys = append(t.keys, verifiers...)
	}
	if len(rule.Identities) == 0 {
		return t, nil
	}
	trusted, err := root.NewTrustedRootFromJSON(rule.TrustedRoot)
	if err != nil {
		return nil, fmt.Errorf("the trusted root cannot be read: want the JSON of Sigstore's TrustedRoot, such as trusted_root.json: %s", oneLine(err))
	}
	t.certificates, err = certificateVerifier(trusted)
	return t, err
}

// keyVerifiers returns verifiers for a key. For curves other than P-256, the hash is the one for the curve, or SHA-256, which cosign
// uses.
func keyVerifiers(key crypto.PublicKey) ([]*verify.Verifier, error) {
	usual, err := signature.LoadDefaultVerifier(key)
	if err != nil {
		return nil, err
	}
	loaded := []signature.Verifier{usual}
	if long, ok := key.(*ecdsa.PublicKey); ok && long.Curve != elliptic.P256() {
		short, err := signature.LoadVerifier(key, crypto.SHA256)
		if err != nil {
			return nil, err
		}
		loaded = append(loaded, short)
	}
	verifiers := make([]*verify.Verifier, 0, len(loaded))
	for _, l := range loaded {
		// Ignore the name of the key in the signature.
		material := root.NewTrustedPublicKeyMaterial(func(string) (root.TimeConstrainedVerifier, error) {
			return root.NewExpiringKey(l, time.Time{}, time.Time{}), nil
		})
		v, err := verify.NewVerifier(material, verify.WithNoObserverTimestamps(), verify.WithoutStatementPredicate())
		if err != nil {
			return nil, err
		}
		verifiers = append(verifiers, v)
	}
	return verifiers, nil
}

// certificateVerifier returns a verifier that requires a proof from each kind of log in the trusted root. It also requires a timestamp,
// because the certificate has usually expired since the signature.
func certificateVerifier(trusted *root.TrustedRoot) (*verify.Verifier, error) {
	options := []verify.VerifierOption{verify.WithObserverTimestamps(1), verify.WithoutStatementPredicate()}
	if len(trusted.RekorLogs()) > 0 {
		options = append(options, verify.WithTransparencyLog(1))
	}
	if len(trusted.CTLogs()) > 0 {
		options = append(options, verify.WithSignedCertificateTimestamps(1))
	}
	return verify.NewVerifier(trusted, options...)
}
