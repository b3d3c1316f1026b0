// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package wrapperapi

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"slices"
)

const (
	// AuthoritiesVariable is the environment variable with the fingerprints of the certificate authorities that sign the certificates
	// of function runners, separated by commas. A wrapper server with TLS does not start without it.
	AuthoritiesVariable = "KRMFN_RUNNER_AUTHORITIES"
	// RunnerName is the DNS name in function runners' certificates. A certificate of the same authority with another name is rejected.
	RunnerName = "function-runner.krmfn.dev"
	// TLSFlag makes a wrapper server require certificates of function runners. Wrapper servers without TLS support do not start with
	// this flag.
	TLSFlag = "tls"
	// HealthPortFlag is the flag for the port on which a wrapper server with TLS answers the kubelet's probes in plain text.
	HealthPortFlag = "health-port"
)

// Fingerprint returns the SHA-256 hash of a certificate, in hexadecimal.
func Fingerprint(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// VerifyRunner checks the certificates that a client sent, its own first: a trusted authority must have signed it for function runners.
// trusted holds the fingerprints of the authorities. The client must send the certificate of the authority, too. sent must not be
// empty; tls.RequireAnyClientCert ensures that.
func VerifyRunner(sent []*x509.Certificate, trusted []string) error {
	// With an empty pool of roots, verification fails. Without a pool, the system's roots would be trusted.
	options := x509.VerifyOptions{
		DNSName: RunnerName, Roots: x509.NewCertPool(), Intermediates: x509.NewCertPool(),
		KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	for _, c := range sent[1:] {
		if slices.Contains(trusted, Fingerprint(c)) {
			options.Roots.AddCert(c)
		} else {
			options.Intermediates.AddCert(c)
		}
	}
	_, err := sent[0].Verify(options)
	return err
}
