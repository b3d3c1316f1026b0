// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signatures

import (
	"encoding/json"
	"fmt"

	"github.com/sigstore/sigstore-go/pkg/bundle"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// candidate is a signature or an attestation that may satisfy a rule.
type candidate struct {
	bundle *bundle.Bundle
	// payload is the signed content if the bundle does not contain it: cosign's description of the image.
	payload []byte
	// kind is the claimed kind: imageSignature, or the predicate type of an attestation.
	kind string
	// certified means that the signer has a certificate, not only a key.
	certified bool
}

// imageSignature is the kind of a plain signature of an image.
const imageSignature = ""

// signPredicate is the predicate type of cosign's image signatures in bundles.
const signPredicate = "https://sigstore.dev/cosign/sign/v1"

// parse parses a signature or attestation that a registry stores with an image.
func parse(attached registry.Attached) (*candidate, error) {
	c := &candidate{}
	var err error
	switch {
	case attached.MediaType == registry.MediaTypeSimpleSigning:
		c.payload = attached.Content
		c.bundle, err = simpleSigning(attached)
	case attached.MediaType == registry.MediaTypeEnvelope:
		c.bundle, err = envelope(attached)
	case registry.IsBundle(attached.MediaType):
		c.bundle = &bundle.Bundle{}
		err = c.bundle.UnmarshalJSON(attached.Content)
	default:
		err = fmt.Errorf("media type %q does not belong to a signature", attached.MediaType)
	}
	if err != nil {
		return nil, err
	}
	content, err := c.bundle.VerificationContent()
	if err != nil {
		return nil, err
	}
	c.certified = content.Certificate() != nil
	c.kind, err = kindOf(c.bundle)
	return c, err
}

func kindOf(b *bundle.Bundle) (string, error) {
	dsse := b.GetDsseEnvelope()
	if dsse == nil {
		return imageSignature, nil
	}
	var statement struct {
		PredicateType string `json:"predicateType"`
	}
	if err := json.Unmarshal(dsse.GetPayload(), &statement); err != nil {
		return "", fmt.Errorf("read the statement of an attestation: %w", err)
	}
	return predicateKind(statement.PredicateType), nil
}

func predicateKind(predicateType string) string {
	if predicateType == signPredicate {
		return imageSignature
	}
	// Quoting distinguishes an attestation without a type from an image signature.
	return fmt.Sprintf("%q", predicateType)
}
