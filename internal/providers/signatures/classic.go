// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signatures

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"

	protobundle "github.com/sigstore/protobuf-specs/gen/pb-go/bundle/v1"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/protobuf-specs/gen/pb-go/dsse"
	protorekor "github.com/sigstore/protobuf-specs/gen/pb-go/rekor/v1"
	"github.com/sigstore/sigstore-go/pkg/bundle"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// Annotations in which cosign stores the parts of a bundle, next to the signed content.
const (
	annotationSignature   = "dev.cosignproject.cosign/signature"
	annotationCertificate = "dev.sigstore.cosign/certificate"
	annotationLog         = "dev.sigstore.cosign/bundle"
	annotationTimestamp   = "dev.sigstore.cosign/rfc3161timestamp"
)

// classicBundle is the bundle version for what cosign stored in annotations: it requires the log's promise instead of its proof.
const classicBundle = "application/vnd.dev.sigstore.bundle+json;version=0.1"

// simpleSigning returns the bundle of a signature under cosign's tag.
func simpleSigning(attached registry.Attached) (*bundle.Bundle, error) {
	made, err := base64.StdEncoding.DecodeString(attached.Annotations[annotationSignature])
	if err != nil || len(made) == 0 {
		return nil, fmt.Errorf("its annotation %s has no signature in base64", annotationSignature)
	}
	sum := sha256.Sum256(attached.Content)
	return classic(attached, &protobundle.Bundle{Content: &protobundle.Bundle_MessageSignature{MessageSignature: &protocommon.MessageSignature{
		MessageDigest: &protocommon.HashOutput{Algorithm: protocommon.HashAlgorithm_SHA2_256, Digest: sum[:]}, Signature: made,
	}}})
}

// envelope returns the bundle of an attestation that is stored under cosign's tag.
func envelope(attached registry.Attached) (*bundle.Bundle, error) {
	var parsed struct {
		PayloadType string `json:"payloadType"`
		Payload     []byte `json:"payload"`
		Signatures  []struct {
			KeyID string `json:"keyid"`
			Sig   []byte `json:"sig"`
		} `json:"signatures"`
	}
	if err := json.Unmarshal(attached.Content, &parsed); err != nil {
		return nil, fmt.Errorf("read the envelope of an attestation: %w", err)
	}
	if parsed.Payload == nil {
		return nil, errors.New("the envelope of an attestation is empty")
	}
	e := &dsse.Envelope{PayloadType: parsed.PayloadType, Payload: parsed.Payload}
	for _, s := range parsed.Signatures {
		e.Signatures = append(e.Signatures, &dsse.Signature{Keyid: s.KeyID, Sig: s.Sig})
	}
	return classic(attached, &protobundle.Bundle{Content: &protobundle.Bundle_DsseEnvelope{DsseEnvelope: e}})
}

// classic adds the parts in annotations to a bundle.
func classic(attached registry.Attached, b *protobundle.Bundle) (*bundle.Bundle, error) {
	b.MediaType, b.VerificationMaterial = classicBundle, &protobundle.VerificationMaterial{
		Content: &protobundle.VerificationMaterial_PublicKey{PublicKey: &protocommon.PublicKeyIdentifier{}},
	}
	if text := attached.Annotations[annotationCertificate]; text != "" {
		block, _ := pem.Decode([]byte(text))
		if block == nil || block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("its annotation %s has no certificate in PEM", annotationCertificate)
		}
		b.VerificationMaterial.Content = &protobundle.VerificationMaterial_X509CertificateChain{X509CertificateChain: &protocommon.X509CertificateChain{
			Certificates: []*protocommon.X509Certificate{{RawBytes: block.Bytes}},
		}}
	}
	if text := attached.Annotations[annotationLog]; text != "" {
		entry, err := logEntry([]byte(text))
		if err != nil {
			return nil, fmt.Errorf("its annotation %s is not an entry of a transparency log: %w", annotationLog, err)
		}
		b.VerificationMaterial.TlogEntries = []*protorekor.TransparencyLogEntry{entry}
	}
	if text := attached.Annotations[annotationTimestamp]; text != "" {
		var stamp struct{ SignedRFC3161Timestamp []byte }
		if err := json.Unmarshal([]byte(text), &stamp); err != nil {
			return nil, fmt.Errorf("its annotation %s is not a timestamp: %w", annotationTimestamp, err)
		}
		b.VerificationMaterial.TimestampVerificationData = &protobundle.TimestampVerificationData{
			Rfc3161Timestamps: []*protocommon.RFC3161SignedTimestamp{{SignedTimestamp: stamp.SignedRFC3161Timestamp}},
		}
	}
	return bundle.NewBundle(b)
}

func logEntry(text []byte) (*protorekor.TransparencyLogEntry, error) {
	var kept struct {
		SignedEntryTimestamp []byte
		Payload              struct {
			Body           []byte `json:"body"`
			IntegratedTime int64  `json:"integratedTime"`
			LogIndex       int64  `json:"logIndex"`
			LogID          string `json:"logID"`
		}
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, err
	}
	log, err := hex.DecodeString(kept.Payload.LogID)
	if err != nil {
		return nil, err
	}
	var body struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(kept.Payload.Body, &body); err != nil {
		return nil, err
	}
	return &protorekor.TransparencyLogEntry{
		LogIndex: kept.Payload.LogIndex, LogId: &protocommon.LogId{KeyId: log}, IntegratedTime: kept.Payload.IntegratedTime,
		KindVersion:       &protorekor.KindVersion{Kind: body.Kind, Version: body.APIVersion},
		InclusionPromise:  &protorekor.InclusionPromise{SignedEntryTimestamp: kept.SignedEntryTimestamp},
		CanonicalizedBody: kept.Payload.Body,
	}, nil
}
