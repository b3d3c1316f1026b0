// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
)

// SignatureRule says who must have signed an image: at least one of Keys and Identities. It is immutable.
type SignatureRule struct {
	// Name is the position of the rule, such as "signatures[0] of the image policy".
	Name string
	// Keys are public keys of signers. Identities are signers with short-lived certificates.
	Keys       []PublicKey
	Identities []Identity
	// PredicateTypes are types of in-toto attestations, all of which the image must have. If it is empty, the image itself must be
	// signed.
	PredicateTypes []string
	// TrustedRoot is Sigstore's trusted root in JSON, with which certificates are verified. It is empty if there are no Identities.
	TrustedRoot []byte
	// ID is equal for rules with equal requirements, whatever their names and images.
	ID string

	about rule
}

// PublicKey is a signer's public key.
type PublicKey struct {
	// Name is the file of the key, or its position in the policy.
	Name string
	// Key is an *ecdsa.PublicKey, an *rsa.PublicKey or an ed25519.PublicKey.
	Key crypto.PublicKey
}

// Identity is a signer with a certificate of Fulcio.
type Identity struct {
	// Issuer is the OpenID Connect issuer that authenticated the signer.
	Issuer string
	// Subject is the signer's email address or URI. It is empty if SubjectRegExp is set, which matches the whole subject.
	Subject       string
	SubjectRegExp *regexp.Regexp
}

// Matches reports whether a certificate belongs to this signer.
func (i *Identity) Matches(issuer, subject string) bool {
	return i.Issuer == issuer && (i.Subject != "" && i.Subject == subject || i.SubjectRegExp != nil && i.SubjectRegExp.MatchString(subject))
}

func (i *Identity) String() string {
	if i.SubjectRegExp != nil {
		return fmt.Sprintf("%q of %s", i.SubjectRegExp.String(), i.Issuer)
	}
	return fmt.Sprintf("%s of %s", i.Subject, i.Issuer)
}

// Signatures returns the rules for an image, all of which its signatures must satisfy. It returns none if no signature is required. The
// error is a *RefusedError, because an invalid reference is not permitted.
func (p *Policy) Signatures(reference string) ([]*SignatureRule, error) {
	if p == nil || len(p.signatures) == 0 {
		return nil, nil
	}
	image, err := parse(reference)
	if err != nil {
		return nil, err
	}
	var rules []*SignatureRule
	for _, r := range p.signatures {
		if r.about.matches(image.repository) {
			rules = append(rules, r)
		}
	}
	return rules, nil
}

// SignatureRules returns all signature rules.
func (p *Policy) SignatureRules() []*SignatureRule {
	if p == nil {
		return nil
	}
	return p.signatures
}

// ForSignatures returns a policy that permits images that satisfy a rule. The error says what is wrong with the rule.
func ForSignatures(rule SignatureRule) (*Policy, error) {
	if err := rule.complete(); err != nil {
		return nil, err
	}
	return &Policy{floating: floatingAllow, signatures: []*SignatureRule{&rule}}, nil
}

// complete checks that a rule can be satisfied, and sets its ID.
func (r *SignatureRule) complete() error {
	switch {
	case len(r.Keys) == 0 && len(r.Identities) == 0:
		return errors.New("it names no signer: set keys or keyless")
	case len(r.Identities) > 0 && len(r.TrustedRoot) == 0:
		return errors.New("keyless needs a trusted root to verify certificates: set trustedRoot to a file")
	case len(r.Identities) == 0:
		r.TrustedRoot = nil
	}
	wanted := struct {
		Keys        [][]byte
		Identities  []string
		Predicates  []string
		TrustedRoot []byte
	}{Predicates: r.PredicateTypes, TrustedRoot: r.TrustedRoot}
	for _, key := range r.Keys {
		der, err := x509.MarshalPKIXPublicKey(key.Key)
		if err != nil {
			return fmt.Errorf("key %s: %w", key.Name, err)
		}
		wanted.Keys = append(wanted.Keys, der)
	}
	for _, identity := range r.Identities {
		wanted.Identities = append(wanted.Identities, fmt.Sprintf("%q %q %v", identity.Issuer, identity.Subject, identity.SubjectRegExp))
	}
	text, err := json.Marshal(wanted)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	r.ID = hex.EncodeToString(sum[:])
	return nil
}
