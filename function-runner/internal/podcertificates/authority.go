// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podcertificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"

	"github.com/krmfn/krmfn/internal/wrapperapi"
)

const (
	// caKey is the key under which cert-manager stores the certificate of the issuer.
	caKey = "ca.crt"
	// skew is the maximum clock skew of nodes.
	skew = 5 * time.Minute
)

// authority is a certificate authority that signs the client certificates of function runners.
type authority struct {
	certificate *x509.Certificate
	key         crypto.Signer
	// anchor is the fingerprint of the certificate that wrapper servers trust: the authority's own, or its issuer's. chain holds the
	// certificates between a leaf and this certificate, and this certificate itself, which wrapper servers do not have.
	anchor string
	chain  [][]byte
}

// anchored returns the authority of a key and its certificate. Wrapper servers trust the last certificate of the chain.
func anchored(key crypto.Signer, certificate *x509.Certificate, chain ...*x509.Certificate) authority {
	a := authority{certificate: certificate, key: key, anchor: wrapperapi.Fingerprint(chain[len(chain)-1])}
	for _, c := range chain {
		a.chain = append(a.chain, c.Raw)
	}
	return a
}

// parse returns the authorities in a Secret, the newest first. Its errors do not contain key material.
func parse(secret *corev1.Secret) ([]authority, error) {
	certificates, err := cert.ParseCertsPEM(secret.Data[corev1.TLSCertKey])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", corev1.TLSCertKey, err)
	}
	var issuers []*x509.Certificate
	if text := secret.Data[caKey]; len(text) > 0 {
		if issuers, err = cert.ParseCertsPEM(text); err != nil {
			return nil, fmt.Errorf("%s: %w", caKey, err)
		}
	}
	var found []authority
	for rest := secret.Data[corev1.TLSPrivateKeyKey]; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		key, certificate, err := signer(block, certificates)
		if err != nil {
			return nil, err
		}
		chain := []*x509.Certificate{certificate}
		if len(issuers) > 0 {
			chain = append(slices.Clone(certificates), issuers[0])
		}
		found = append(found, anchored(key, certificate, chain...))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no private key in PEM format", corev1.TLSPrivateKeyKey)
	}
	return found, nil
}

// signer returns a private key and its certificate, which must be among certificates.
func signer(block *pem.Block, certificates []*x509.Certificate) (crypto.Signer, *x509.Certificate, error) {
	parsed, err := keyutil.ParsePrivateKeyPEM(pem.EncodeToMemory(block))
	key, ok := parsed.(crypto.Signer)
	if err != nil || !ok {
		return nil, nil, fmt.Errorf("%s has what is no private key", corev1.TLSPrivateKeyKey)
	}
	public, ok := key.Public().(interface {
		Equal(other crypto.PublicKey) bool
	})
	if !ok {
		return nil, nil, fmt.Errorf("%s has a private key of an unknown kind", corev1.TLSPrivateKeyKey)
	}
	at := slices.IndexFunc(certificates, func(c *x509.Certificate) bool { return public.Equal(c.PublicKey) })
	switch {
	case at < 0:
		return nil, nil, fmt.Errorf("%s has a private key to which %s has no certificate", corev1.TLSPrivateKeyKey, corev1.TLSCertKey)
	case !certificates[at].IsCA:
		return nil, nil, fmt.Errorf("the certificate of %s is no certificate authority: issue it with isCA", corev1.TLSCertKey)
	}
	return key, certificates[at], nil
}

// encode encodes authorities in the format that parse reads.
func encode(authorities []authority) (map[string][]byte, error) {
	var certificates, keys []byte
	for _, a := range authorities {
		der, err := x509.MarshalPKCS8PrivateKey(a.key)
		if err != nil {
			return nil, err
		}
		certificates = append(certificates, encodeCertificate(a.certificate)...)
		keys = append(keys, pem.EncodeToMemory(&pem.Block{Type: keyutil.PrivateKeyBlockType, Bytes: der})...)
	}
	return map[string][]byte{corev1.TLSCertKey: certificates, corev1.TLSPrivateKeyKey: keys}, nil
}

func encodeCertificate(c *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: c.Raw})
}

// newAuthority creates an authority with a lifetime.
func newAuthority(lifetime time.Duration) (authority, error) {
	key, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	serial, err2 := serialNumber()
	if err := errors.Join(err1, err2); err != nil {
		return authority{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "krmfn function runners"},
		NotBefore: now.Add(-skew), NotAfter: now.Add(lifetime),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		PermittedDNSDomainsCritical: true, PermittedDNSDomains: []string{wrapperapi.RunnerName},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return authority{}, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return authority{}, err
	}
	return anchored(key, certificate, certificate), nil
}

// issue creates a client certificate for a function runner, whose key stays in memory. The certificate expires after the lifetime, or
// with the authority.
func (a authority) issue(lifetime time.Duration) (*tls.Certificate, error) {
	key, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	serial, err2 := serialNumber()
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "krmfn function runner"}, DNSNames: []string{wrapperapi.RunnerName},
		NotBefore: now.Add(-skew), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if template.NotAfter.After(a.certificate.NotAfter) {
		template.NotAfter = a.certificate.NotAfter
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return nil, fmt.Errorf("sign a certificate: %w", err)
	}
	leaf, err := x509.ParseCertificate(der)
	return &tls.Certificate{Certificate: append([][]byte{der}, a.chain...), PrivateKey: key, Leaf: leaf}, err
}

func serialNumber() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
}
