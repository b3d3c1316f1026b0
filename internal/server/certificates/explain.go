// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// explain adds to the error of a TLS connection which side rejected the certificate of the other, and why. peer is the other side, own
// is the certificate of this side, and flag is the flag with the authorities for peer's certificate.
func explain(err error, peer, own, flag string) error {
	if remote, ok := errors.AsType[*net.OpError](err); ok && isRefusal(err) {
		if !strings.Contains(remote.Err.Error(), "certificate") {
			return fmt.Errorf("the %s ended the TLS handshake: %w", peer, err)
		}
		return fmt.Errorf("the %s rejected the %s: %s: %w", peer, own, alert(remote.Err.Error()), err)
	}
	if errors.As(err, new(tls.RecordHeaderError)) {
		return fmt.Errorf("the %s does not speak TLS: %w", peer, err)
	}
	invalid, ok := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case ok:
		return fmt.Errorf("the certificate of the %s%s: %w", peer, reason(invalid, flag), err)
	case strings.Contains(err.Error(), "client didn't provide a certificate"):
		return fmt.Errorf("the client sent no certificate, but %s requires one: %w", flag, err)
	}
	return err
}

// isRefusal reports whether the other side has ended a connection with a TLS alert.
func isRefusal(err error) bool {
	remote, ok := errors.AsType[*net.OpError](err)
	return ok && remote.Op == "remote error"
}

// alert returns the meaning of a TLS alert about a certificate. text is the error text of package crypto/tls.
func alert(text string) string {
	switch {
	case strings.HasSuffix(text, "certificate required"):
		return "it requires one, and none was sent"
	case strings.HasSuffix(text, "expired certificate"):
		return "it has expired or is not valid yet"
	case strings.HasSuffix(text, "unknown certificate authority"):
		return "it does not trust the authority that signed the certificate"
	case strings.HasSuffix(text, "bad certificate"):
		return "the certificate is not valid for this use, for example because of its names or its extended key usage"
	}
	return "see its log"
}

// reason returns the names in a certificate, followed by the reason why it is invalid, as the continuation of a sentence.
func reason(err *tls.CertificateVerificationError, flag string) string {
	who := ""
	if len(err.UnverifiedCertificates) > 0 {
		who = " for " + name(err.UnverifiedCertificates[0])
	}
	if other, ok := errors.AsType[x509.HostnameError](err.Err); ok {
		return fmt.Sprintf("%s is not valid for %s", who, other.Host)
	}
	if errors.As(err.Err, new(x509.UnknownAuthorityError)) {
		return who + " is not signed by an authority in " + flag
	}
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err.Err)
	switch {
	case ok && invalid.Reason == x509.Expired && time.Now().Before(invalid.Cert.NotBefore):
		return who + " is not valid before " + invalid.Cert.NotBefore.UTC().Format(time.RFC3339)
	case ok && invalid.Reason == x509.Expired:
		return who + " expired at " + invalid.Cert.NotAfter.UTC().Format(time.RFC3339)
	case ok && invalid.Reason == x509.IncompatibleUsage:
		return who + " has the wrong extended key usage"
	}
	return who + " is not valid"
}

// name returns the URIs and DNS names in a certificate, or else its common name.
func name(c *x509.Certificate) string {
	names := Names(c)
	if len(names) == 0 {
		return fmt.Sprintf("%q", c.Subject.CommonName)
	}
	return strings.Join(names, ", ")
}

// Names returns the URIs and DNS names in a certificate. Allow-lists contain such names.
func Names(c *x509.Certificate) []string {
	var names []string
	for _, uri := range c.URIs {
		names = append(names, uri.String())
	}
	return append(names, c.DNSNames...)
}
