// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
)

// CertificateError says that the certificate of a server is not trusted, and by whom: nodes, which pull the images, trust
// others, so that whoever looks there finds nothing.
type CertificateError struct {
	// Owner is who does not trust it.
	Owner string
	// Host is the server, with its port where the request has one.
	Host string
	// Issuer is who issued the certificate, or the last one in its chain.
	Issuer string
	// Reason says what is wrong, and what to do, one line.
	Reason string
	// Err is the error of the connection.
	Err error
}

func (e *CertificateError) Error() string {
	return fmt.Sprintf("%s, not a node, refuses the certificate of %s: %s", e.Owner, e.Host, e.Reason)
}

// Unwrap returns the error of the connection.
func (e *CertificateError) Unwrap() error { return e.Err }

// explain says of a certificate's error what to do; others it returns as they are.
func (t *Trust) explain(server *url.URL, err error) error {
	failed, ok := errors.AsType[*tls.CertificateVerificationError](err)
	if !ok || len(failed.UnverifiedCertificates) == 0 {
		return err
	}
	chain := failed.UnverifiedCertificates
	e := &CertificateError{Owner: t.options.Owner, Host: server.Host, Issuer: shorten(chain[len(chain)-1].Issuer.String()), Err: err}
	switch cause := failed.Err.(type) { //nolint:errorlint // crypto/x509 returns them bare
	case x509.UnknownAuthorityError:
		e.Reason = fmt.Sprintf("it does not trust the issuer %q: %s", e.Issuer, t.advice(server))
	case x509.HostnameError:
		e.Reason = fmt.Sprintf("it is for other names (issuer %q): check the registry's name and its certificate", e.Issuer)
	case x509.CertificateInvalidError:
		e.Reason = fmt.Sprintf("%s (issuer %q): renew the certificate, or set the clock", shorten(cause.Error()), e.Issuer)
	default:
		e.Reason = fmt.Sprintf("%s (issuer %q)", shorten(failed.Err.Error()), e.Issuer)
	}
	return e
}

func (t *Trust) advice(server *url.URL) string {
	if t.options.Dir == "" {
		return "give it the issuer's certificate with --enable-private-registries-tls and --tls-secret-path"
	}
	return fmt.Sprintf("put the issuer's certificate into %s, or %s for this registry",
		filepath.Join(t.options.Dir, authorityNames[0]), filepath.Join(server.Host, authorityNames[0]))
}

// maxName is the most bytes of a server's words in the error of its certificate, which must fit with the rest into one of a
// registry.
const maxName = 120

func shorten(text string) string {
	text = oneLine(text)
	if len(text) > maxName {
		return oneLine(text[:maxName]) + "…"
	}
	return text
}
