// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"regexp"
)

type signatureEntry struct {
	Prefix       *string             `json:"prefix"`
	Repository   *string             `json:"repository"`
	Keys         *[]keyEntry         `json:"keys"`
	Keyless      *[]identityEntry    `json:"keyless"`
	Attestations *[]attestationEntry `json:"attestations"`
}

type keyEntry struct {
	File *string `json:"file"`
	Data *string `json:"data"`
}

type identityEntry struct {
	Issuer        string  `json:"issuer"`
	Subject       *string `json:"subject"`
	SubjectRegExp *string `json:"subjectRegExp"`
}

type attestationEntry struct {
	PredicateType string `json:"predicateType"`
}

// readFunc reads a file that the policy names.
type readFunc func(name string) ([]byte, error)

// MaxFileSize is the maximum size, in bytes, of a file with keys or a trusted root.
const MaxFileSize = 1 << 20

// minRSABits is the minimum size of an RSA key.
const minRSABits = 2048

func (e *signatureEntry) rule(name string, trustedRoot []byte, read readFunc) (*SignatureRule, error) {
	r := &SignatureRule{Name: name + " of the image policy", TrustedRoot: trustedRoot}
	var err error
	if r.about, err = (&entry{Prefix: e.Prefix, Repository: e.Repository}).repositoryRule(); err != nil {
		return nil, err
	}
	for i, k := range value(e.Keys) {
		place := fmt.Sprintf("keys[%d]", i)
		keys, err := k.keys(name+"."+place, read)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", place, err)
		}
		r.Keys = append(r.Keys, keys...)
	}
	for i, k := range value(e.Keyless) {
		identity, err := k.identity()
		if err != nil {
			return nil, fmt.Errorf("keyless[%d]: %w", i, err)
		}
		r.Identities = append(r.Identities, identity)
	}
	for i, a := range value(e.Attestations) {
		if a.PredicateType == "" {
			return nil, fmt.Errorf("attestations[%d]: predicateType is empty: set it to a type, such as https://slsa.dev/provenance/v1", i)
		}
		r.PredicateTypes = append(r.PredicateTypes, a.PredicateType)
	}
	return r, r.complete()
}

func value[T any](list *[]T) []T {
	if list == nil {
		return nil
	}
	return *list
}

func (k *keyEntry) keys(place string, read readFunc) ([]PublicKey, error) {
	switch {
	case (k.File == nil) == (k.Data == nil):
		return nil, errors.New("set one of file and data")
	case k.Data != nil:
		return ParseKeys(place, []byte(*k.Data))
	}
	text, err := read(*k.File)
	if err != nil {
		return nil, err
	}
	return ParseKeys(*k.File, text)
}

func (e *identityEntry) identity() (Identity, error) {
	switch {
	case e.Issuer == "":
		return Identity{}, errors.New("issuer is empty: set it to the signer's OpenID Connect issuer, such as https://token.actions.githubusercontent.com")
	case (e.Subject == nil) == (e.SubjectRegExp == nil):
		return Identity{}, errors.New("set one of subject and subjectRegExp")
	case e.Subject != nil:
		return NewIdentity(e.Issuer, *e.Subject, "")
	}
	return NewIdentity(e.Issuer, "", *e.SubjectRegExp)
}

// NewIdentity returns a signer with either a subject or a regular expression that must match the whole subject.
func NewIdentity(issuer, subject, subjectRegExp string) (Identity, error) {
	identity := Identity{Issuer: issuer, Subject: subject}
	if issuer == "" || (subject == "") == (subjectRegExp == "") {
		return identity, errors.New("a signer needs an issuer and either a subject or a regular expression for it")
	}
	if subjectRegExp == "" {
		return identity, nil
	}
	// The expression must match the whole subject. An attacker could easily obtain a subject of which a part matches.
	if _, err := regexp.Compile(subjectRegExp); err != nil {
		return identity, fmt.Errorf("the regular expression %q for the subject is not valid: %w", subjectRegExp, err)
	}
	identity.SubjectRegExp = regexp.MustCompile(`^(?:` + subjectRegExp + `)$`)
	return identity, nil
}

// ParseKeys parses public keys in PEM: ECDSA, RSA of at least 2048 bits, or Ed25519. Errors say what is wrong.
func ParseKeys(name string, text []byte) ([]PublicKey, error) {
	var keys []PublicKey
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			break
		}
		if block.Type != "PUBLIC KEY" {
			return nil, fmt.Errorf("%s has a PEM block of type %q, want PUBLIC KEY", name, block.Type)
		}
		key, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s has a public key that cannot be read: %w", name, err)
		}
		switch key := key.(type) {
		case *rsa.PublicKey:
			if key.N.BitLen() < minRSABits {
				return nil, fmt.Errorf("%s has an RSA key of %d bits, want at least %d", name, key.N.BitLen(), minRSABits)
			}
		case *ecdsa.PublicKey, ed25519.PublicKey:
		default:
			return nil, fmt.Errorf("%s has a key of a type other than ECDSA, RSA and Ed25519", name)
		}
		keys = append(keys, PublicKey{Name: name, Key: key})
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s has no public key in PEM (-----BEGIN PUBLIC KEY-----)", name)
	}
	return keys, nil
}
