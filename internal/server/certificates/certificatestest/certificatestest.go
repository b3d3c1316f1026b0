// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package certificatestest creates certificates for tests.
package certificatestest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Authority is a certificate authority.
type Authority struct {
	// PEM is the authority's own certificate.
	PEM []byte

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New returns an authority with a self-signed certificate.
func New(t testing.TB, name string) *Authority {
	t.Helper()
	key := newKey(t)
	template := template(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &Authority{PEM: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), certificate: parsed, key: key}
}

// Issue returns a certificate for servers and clients with the given names, which are URIs, IP addresses or DNS names. The certificate
// is valid from one hour ago for the lifetime: with a lifetime below an hour, it has expired.
func (a *Authority) Issue(t testing.TB, lifetime time.Duration, names ...string) (certificate, key []byte) {
	t.Helper()
	own := newKey(t)
	template := template("test")
	template.NotAfter = template.NotBefore.Add(lifetime)
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, name := range names {
		uri, err := url.Parse(name)
		switch ip := net.ParseIP(name); {
		case ip != nil:
			template.IPAddresses = append(template.IPAddresses, ip)
		case err == nil && strings.Contains(name, "://"):
			template.URIs = append(template.URIs, uri)
		default:
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return a.sign(t, template, own)
}

// IssueAuthority returns the certificate of an intermediate authority.
func (a *Authority) IssueAuthority(t testing.TB, name string) (certificate, key []byte) {
	t.Helper()
	template := template(name)
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	return a.sign(t, template, newKey(t))
}

// sign returns a certificate with the fields of a template for the key own.
func (a *Authority) sign(t testing.TB, template *x509.Certificate, own *ecdsa.PrivateKey) (certificate, key []byte) {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, own.Public(), a.key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})
}

// Pair issues a certificate, writes tls.crt and tls.key to a directory, and returns the paths of the two files.
func (a *Authority) Pair(t testing.TB, dir string, lifetime time.Duration, names ...string) (certificate, key string) {
	t.Helper()
	c, k := a.Issue(t, lifetime, names...)
	return Write(t, dir, "tls.crt", c), Write(t, dir, "tls.key", k)
}

// Write writes a file to a directory atomically, and returns its path.
func Write(t testing.TB, dir, name string, text []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
	return file
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func template(name string) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(48 * time.Hour),
	}
}
