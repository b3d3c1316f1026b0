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

// explain says which side of a connection refused what. peer is the other side, and flag names the authorities that its
// certificate must be from.
func explain(err error, peer, flag string) error {
	if remote, ok := errors.AsType[*net.OpError](err); ok && isRefusal(err) {
		if !strings.Contains(remote.Err.Error(), "certificate") {
			return fmt.Errorf("the %s ended the TLS handshake: %w", peer, err)
		}
		return fmt.Errorf("the %s refused this side's certificate: %s: %w", peer, alert(remote.Err.Error()), err)
	}
	if errors.As(err, new(tls.RecordHeaderError)) {
		return fmt.Errorf("the %s does not speak TLS: %w", peer, err)
	}
	invalid, ok := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case ok:
		return fmt.Errorf("this side refused the certificate of the %s%s: %w", peer, reason(invalid, flag), err)
	case strings.Contains(err.Error(), "client didn't provide a certificate"):
		return fmt.Errorf("the client showed no certificate, and %s demands one: %w", flag, err)
	}
	return err
}

// isRefusal tells whether the other side has ended a connection by an alert.
func isRefusal(err error) bool {
	remote, ok := errors.AsType[*net.OpError](err)
	return ok && remote.Op == "remote error"
}

// alert puts what the other side said into words.
func alert(text string) string {
	switch {
	case strings.HasSuffix(text, "certificate required"):
		return "it demands one and was shown none"
	case strings.HasSuffix(text, "expired certificate"):
		return "it has expired, or is not valid yet"
	case strings.HasSuffix(text, "unknown certificate authority"):
		return "it does not trust the authority that signed it"
	case strings.HasSuffix(text, "bad certificate"):
		return "it is not valid there, such as for another name or use"
	}
	return "see its log"
}

// reason returns what is wrong with a certificate, after the name that it is for.
func reason(err *tls.CertificateVerificationError, flag string) string {
	who := ""
	if len(err.UnverifiedCertificates) > 0 {
		who = " for " + name(err.UnverifiedCertificates[0])
	}
	if other, ok := errors.AsType[x509.HostnameError](err.Err); ok {
		return fmt.Sprintf("%s: it is not for %s", who, other.Host)
	}
	if errors.As(err.Err, new(x509.UnknownAuthorityError)) {
		return who + ": no authority of " + flag + " signed it"
	}
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err.Err)
	switch {
	case !ok:
		return who
	case invalid.Reason == x509.Expired && time.Now().Before(invalid.Cert.NotBefore):
		return who + ": it is not valid before " + invalid.Cert.NotBefore.UTC().Format(time.RFC3339)
	case invalid.Reason == x509.Expired:
		return who + ": it expired at " + invalid.Cert.NotAfter.UTC().Format(time.RFC3339)
	case invalid.Reason == x509.IncompatibleUsage:
		return who + ": its extended key usage is another"
	}
	return who
}

// name returns the names of a certificate that allow-lists may have, or else its common name.
func name(c *x509.Certificate) string {
	names := Names(c)
	if len(names) == 0 {
		return fmt.Sprintf("%q", c.Subject.CommonName)
	}
	return strings.Join(names, ", ")
}

// Names returns the URIs and DNS names that a certificate is for.
func Names(c *x509.Certificate) []string {
	var names []string
	for _, uri := range c.URIs {
		names = append(names, uri.String())
	}
	return append(names, c.DNSNames...)
}
