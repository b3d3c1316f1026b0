// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signatures

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/signature/payload"

	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
)

// verifyRule returns nil if the content attached to the image with the given digest satisfies the rule. Otherwise, it returns an error
// of one line.
func verifyRule(rule *policy.SignatureRule, digest string, attached []registry.Attached) error {
	t, err := newRuleVerifier(rule)
	if err != nil {
		return err
	}
	var candidates []*candidate
	var unreadable []error
	for _, a := range attached {
		c, err := parse(a)
		if err != nil {
			unreadable = append(unreadable, err)
			continue
		}
		candidates = append(candidates, c)
	}
	wanted := []string{imageSignature}
	if len(rule.PredicateTypes) > 0 {
		wanted = nil
		for _, predicateType := range rule.PredicateTypes {
			wanted = append(wanted, predicateKind(predicateType))
		}
	}
	for _, kind := range wanted {
		if err := t.verifyKind(kind, digest, candidates, unreadable); err != nil {
			return err
		}
	}
	return nil
}

// verifyKind looks for a candidate of the kind that one of the signers has signed.
func (t *ruleVerifier) verifyKind(kind, digest string, candidates []*candidate, unreadable []error) error {
	what, made := "a signature", "signed"
	if kind != imageSignature {
		what, made = "an attestation of type "+kind, "attested"
	}
	var findings []string
	for _, c := range candidates {
		if c.kind != kind {
			continue
		}
		err := t.verify(c, digest)
		if err == nil {
			return nil
		}
		if finding := oneLine(err); !slices.Contains(findings, finding) {
			findings = append(findings, finding)
		}
	}
	for _, err := range unreadable {
		findings = append(findings, "one cannot be read: "+oneLine(err))
	}
	found := "none was found"
	if len(findings) > 0 {
		found = strings.Join(findings[:min(len(findings), maxFindings)], "; ")
	}
	return fmt.Errorf("%s wants %s by %s, but %s: have it %s by one of them, or the rule changed",
		t.rule.Name, what, t.signers(), found, made)
}

const (
	// maxFindings is the maximum number of findings in an error.
	maxFindings = 3
	// maxFinding is the maximum length of a finding in bytes.
	maxFinding = 300
)

// signers returns the names of those who may sign.
func (t *ruleVerifier) signers() string {
	var names []string
	for _, key := range t.rule.Keys {
		if name := "key " + key.Name; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, identity := range t.rule.Identities {
		names = append(names, identity.String())
	}
	if more := len(names) - maxFindings; more > 0 {
		names = append(names[:maxFindings], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, " or ")
}

// verify returns nil if one of the signers has signed the candidate, and it is about the image.
func (t *ruleVerifier) verify(c *candidate, digest string) error {
	if c.certified {
		if t.certificates == nil {
			return errors.New("it was signed with a certificate, and the rule wants a key")
		}
		result, err := c.verify(t.certificates, digest, verify.WithoutIdentitiesUnsafe())
		if err != nil {
			return fmt.Errorf("a certificate's signature is not valid: %w", err)
		}
		return t.identify(result)
	}
	if len(t.keys) == 0 {
		return errors.New("it was signed with a key, and the rule wants a certificate")
	}
	for _, key := range t.keys {
		if _, err := c.verify(key, digest, verify.WithKey()); err == nil || errors.Is(err, errAnother) {
			return err
		}
	}
	return errors.New("another key signed it, or it was changed after it was signed")
}

// identify checks that the certificate of a verified signature belongs to one of the signers.
func (t *ruleVerifier) identify(result *verify.VerificationResult) error {
	certificate := result.Signature.Certificate
	if certificate == nil {
		return errors.New("it has no certificate")
	}
	for _, identity := range t.rule.Identities {
		if identity.Matches(certificate.Issuer, certificate.SubjectAlternativeName) {
			return nil
		}
	}
	return fmt.Errorf("the certificate identity %q of issuer %q does not match", certificate.SubjectAlternativeName, certificate.Issuer)
}

// errAnother reports that the signed content is about another image.
var errAnother = errors.New("it is about another image")

// verify verifies the signature, and that the signed content is about the image with the given digest.
func (c *candidate) verify(v *verify.Verifier, digest string, signer verify.PolicyOption) (*verify.VerificationResult, error) {
	algorithm, value, _ := strings.Cut(digest, ":")
	sum, err := hex.DecodeString(value)
	if err != nil {
		return nil, fmt.Errorf("digest %q: %w", digest, err)
	}
	if c.payload != nil {
		result, err := v.Verify(c.bundle, verify.NewPolicy(verify.WithArtifact(bytes.NewReader(c.payload)), signer))
		if err != nil {
			return nil, err
		}
		return result, describes(c.payload, digest)
	}
	result, err := v.Verify(c.bundle, verify.NewPolicy(verify.WithArtifactDigest(algorithm, sum), signer))
	if err != nil {
		if _, signed := v.Verify(c.bundle, verify.NewPolicy(verify.WithoutArtifactUnsafe(), signer)); signed == nil {
			return nil, errAnother
		}
		return nil, err
	}
	if c.bundle.GetDsseEnvelope() != nil && predicateKind(result.Statement.GetPredicateType()) != c.kind {
		return nil, errors.New("its predicate type is ambiguous")
	}
	return result, nil
}

// describes returns nil if a verified description is about the image with the given digest.
func describes(text []byte, digest string) error {
	var described payload.Cosign
	if err := json.Unmarshal(text, &described); err != nil {
		return fmt.Errorf("the signed content is not a description of an image: %w", err)
	}
	if of := described.Image.DigestStr(); of != digest {
		return fmt.Errorf("%w, %s", errAnother, of)
	}
	return nil
}

func oneLine(err error) string {
	text := strings.ToValidUTF8(strings.Join(strings.Fields(err.Error()), " "), "")
	if len(text) > maxFinding {
		text = strings.ToValidUTF8(text[:maxFinding], "") + "…"
	}
	return text
}
