// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package signaturetest signs images for tests, in the forms that cosign uses.
package signaturetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// PredicateSign is the predicate type of cosign's image signatures in bundles.
const PredicateSign = "https://sigstore.dev/cosign/sign/v1"

const (
	mediaTypeBundle   = "application/vnd.dev.sigstore.bundle.v0.3+json"
	statementType     = "application/vnd.in-toto+json"
	annotationOfValue = "dev.cosignproject.cosign/signature"
)

// Signer signs with its own key.
type Signer struct{ key *ecdsa.PrivateKey }

// NewSigner returns a signer with a new key.
func NewSigner() (*Signer, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	return &Signer{key}, err
}

// PublicKey returns the public key in PEM.
func (s *Signer) PublicKey() ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(s.key.Public())
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), err
}

// Simple returns the signature of an image in the form that cosign stores under a tag.
func (s *Signer) Simple(image name.Digest) (registry.Attached, error) {
	payload := SimplePayload(image)
	made, err := s.sign(payload)
	return registry.Attached{
		MediaType: registry.MediaTypeSimpleSigning, Content: payload,
		Annotations: map[string]string{annotationOfValue: base64.StdEncoding.EncodeToString(made)},
	}, err
}

// SimplePayload returns cosign's description of an image, which Simple signs.
func SimplePayload(image name.Digest) []byte {
	return fmt.Appendf(nil, `{"critical":{"identity":{"docker-reference":%q},"image":{"docker-manifest-digest":%q},"type":"cosign container image signature"},"optional":null}`,
		image.Context().Name(), image.DigestStr())
}

// Statement returns an in-toto statement about an image.
func Statement(image name.Digest, predicateType string) []byte {
	return fmt.Appendf(nil, `{"_type":"https://in-toto.io/Statement/v1","subject":[{"name":%q,"digest":{"sha256":%q}}],"predicateType":%q,"predicate":{}}`,
		image.Context().Name(), image.DigestStr()[len("sha256:"):], predicateType)
}

// Envelope returns an attestation about an image in the form that cosign stores under a tag.
func (s *Signer) Envelope(image name.Digest, predicateType string) (registry.Attached, error) {
	content, err := s.envelope(image, predicateType)
	return registry.Attached{MediaType: registry.MediaTypeEnvelope, Content: content}, err
}

// Bundle returns a Sigstore bundle with an attestation about an image or, with PredicateSign, its signature.
func (s *Signer) Bundle(image name.Digest, predicateType string) (registry.Attached, error) {
	envelope, err := s.envelope(image, predicateType)
	if err != nil {
		return registry.Attached{}, err
	}
	content, err := json.Marshal(map[string]any{
		"mediaType":            mediaTypeBundle,
		"verificationMaterial": map[string]any{"publicKey": map[string]any{"hint": "test"}},
		"dsseEnvelope":         json.RawMessage(envelope),
	})
	return registry.Attached{MediaType: mediaTypeBundle, Content: content}, err
}

func (s *Signer) envelope(image name.Digest, predicateType string) ([]byte, error) {
	payload := Statement(image, predicateType)
	made, err := s.sign(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(statementType), statementType, len(payload), payload))
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]any{"payloadType": statementType, "payload": payload, "signatures": []any{map[string]any{"sig": made}}})
}

func (s *Signer) sign(text []byte) ([]byte, error) {
	sum := sha256.Sum256(text)
	return ecdsa.SignASN1(rand.Reader, s.key, sum[:])
}
