// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package signatures

import (
	"encoding/json"
	"fmt"

	"github.com/sigstore/sigstore-go/pkg/bundle"

	"github.com/krmfn/krmfn/services/images/registry"
)

// candidate is a signature or an attestation that may be what a rule wants.
type candidate struct {
	bundle *bundle.Bundle
	// payload is what was signed where the bundle does not have it: cosign's description of the image.
	payload []byte
	// kind is what it claims to be: imageSignature, or the predicate type of an attestation.
	kind string
	// certified tells that the signer has a certificate, not just a key.
	certified bool
}

// imageSignature is the kind of what says no more than that the image is the signer's.
const imageSignature = ""

// signPredicate is the predicate type that cosign gives to signatures of images.
const signPredicate = "https://sigstore.dev/cosign/sign/v1"

// parse reads what a registry keeps beside an image.
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
		err = fmt.Errorf("media type %q is none of a signature", attached.MediaType)
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
	// An attestation without a type is no signature of the image.
	return fmt.Sprintf("%q", predicateType)
}
