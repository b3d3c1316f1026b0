// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	ociregistry "github.com/google/go-containerregistry/pkg/registry"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// authority issues certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         string
}

func newAuthority(t *testing.T, name string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{certificate, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// issue issues a server certificate for 127.0.0.1.
func (a *authority) issue(t *testing.T, change func(*x509.Certificate)) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "registry"}, NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// private is a registry with a certificate that the test can change.
type private struct {
	*httptest.Server
	certificate atomic.Pointer[tls.Certificate]
	host        string
}

func newPrivate(t *testing.T, certificate *tls.Certificate) *private {
	t.Helper()
	p := &private{Server: httptest.NewUnstartedServer(ociregistry.New(ociregistry.Logger(discardLog)))}
	p.Config.ErrorLog = discardLog
	p.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{*p.certificate.Load()}}, nil
	}}
	p.certificate.Store(certificate)
	p.StartTLS()
	t.Cleanup(p.Close)
	p.host = strings.TrimPrefix(p.URL, "https://")
	return p
}

func newTrust(t *testing.T, dir string) (*registry.Trust, *logText) {
	t.Helper()
	log := &logText{}
	trust := registry.NewTrust(registry.TrustOptions{Dir: dir, Log: log.logger()})
	t.Cleanup(trust.CloseIdleConnections)
	return trust, log
}

// ping makes a new connection. It returns "" if the certificate is accepted, or else the error.
func ping(t *testing.T, trust *registry.Trust, host string) string {
	t.Helper()
	trust.CloseIdleConnections()
	_, err := registry.NewClient(registry.Options{Transport: trust}).Digest(t.Context(), host+"/team/fn:v1")
	if errors.As(err, new(*registry.NotFoundError)) {
		return ""
	}
	if err == nil || !strings.Contains(err.Error(), "refuses the certificate of "+host) {
		t.Errorf("Digest() from %s = %v, want an error about the certificate", host, err)
		return "another error"
	}
	return err.Error()
}

func TestPrivateAuthority(t *testing.T) {
	t.Parallel()
	one, two := newAuthority(t, "one"), newAuthority(t, "two")
	p := newPrivate(t, one.issue(t, nil))
	dir := t.TempDir()
	trust, log := newTrust(t, dir)
	check := func(file, content, want string) {
		t.Helper()
		if file != "" {
			write(t, filepath.Join(dir, file), content)
		}
		trust.LookAgain()
		if got := ping(t, trust, p.host); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("with %s: error = %q, want %q", file, got, want)
		}
	}
	check("", "", `the function runner, not a node, refuses the certificate of `+p.host+`: it does not trust the issuer "CN=one": put the issuer's certificate into `+
		filepath.Join(dir, "ca.crt")+", or "+p.host+"/ca.crt for this registry")
	check("ca.pem", one.pem, "")
	check("ca.crt", two.pem, `issuer "CN=one"`)
	check("ca.crt", one.pem+two.pem, "")
	check("ca.crt", "no certificate", "")
	// Rotate the authority: first in the file, then in the registry.
	p.certificate.Store(two.issue(t, nil))
	check("", "", "")
	check("ca.crt", two.pem, "")
	p.certificate.Store(one.issue(t, nil))
	check("", "", `issuer "CN=one"`)
	if err := os.Remove(filepath.Join(dir, "ca.crt")); err != nil {
		t.Fatal(err)
	}
	check("", "", "")
	if text := log.String(); strings.Count(text, "neither ca.crt nor ca.pem") != 1 || strings.Count(text, "no valid certificate in PEM") != 1 {
		t.Errorf("log = %s", text)
	}
}

// An authority in a registry's directory is not trusted for other registries.
func TestAuthorityOfOneRegistry(t *testing.T) {
	t.Parallel()
	one := newAuthority(t, "one")
	p, q := newPrivate(t, one.issue(t, nil)), newPrivate(t, one.issue(t, nil))
	for _, name := range []string{p.host + "/ca.crt", p.host + "/ca.pem", strings.Replace(p.host, ":", "_", 1) + "_/ca.crt"} {
		dir := t.TempDir()
		trust, _ := newTrust(t, dir)
		write(t, filepath.Join(dir, "..data", name), one.pem)
		write(t, filepath.Join(dir, "unrelated"), "text")
		first, _, _ := strings.Cut(name, "/")
		for _, link := range []string{first, "unrelated-link"} {
			target := filepath.Join("..data", first)
			if link != first {
				target = "unrelated"
			}
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
		if got := ping(t, trust, p.host); got != "" {
			t.Errorf("with %s: %s", name, got)
		}
		if got := ping(t, trust, q.host); !strings.Contains(got, `issuer "CN=one"`) {
			t.Errorf("with %s, another registry: %q", name, got)
		}
		// After its directory is removed, the authority is not trusted.
		if err := os.Remove(filepath.Join(dir, first)); err != nil {
			t.Fatal(err)
		}
		trust.LookAgain()
		if got := ping(t, trust, p.host); !strings.Contains(got, `issuer "CN=one"`) {
			t.Errorf("without %s: %q", name, got)
		}
	}
}

func TestCertificateErrors(t *testing.T) {
	t.Parallel()
	one := newAuthority(t, strings.Repeat("long\n", 100))
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ca.crt"), one.pem)
	for name, tc := range map[string]struct {
		dir    string
		change func(*x509.Certificate)
		want   string
	}{
		"no directory": {want: "--enable-private-registries-tls"},
		"lost":         {dir: filepath.Join(dir, "lost"), want: "put the issuer's certificate into"},
		"another name": {dir: dir, change: func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"r.io"} }, want: "it is for other names"},
		"expired":      {dir: dir, change: func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }, want: "renew the certificate, or set the clock"},
		"wrong usage":  {dir: dir, change: func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageCodeSigning} }, want: "incompatible key usage"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPrivate(t, one.issue(t, tc.change))
			trust, _ := newTrust(t, tc.dir)
			got := ping(t, trust, p.host)
			if !strings.Contains(got, tc.want) || !strings.Contains(got, "the function runner, not a node") || strings.Contains(got, "\n") {
				t.Errorf("error = %q, want %q", got, tc.want)
			}
			if len(got) > 600 {
				t.Errorf("error has %d bytes: %s", len(got), got)
			}
		})
	}
}

// A connection in use is not closed when the authorities change.
func TestConnectionsInUseStayOpen(t *testing.T) {
	t.Parallel()
	one := newAuthority(t, "one")
	p := newPrivate(t, one.issue(t, nil))
	asked, answer := make(chan struct{}), make(chan struct{})
	p.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(asked)
		<-answer
	})
	dir := t.TempDir()
	write(t, filepath.Join(dir, "ca.crt"), one.pem)
	trust, _ := newTrust(t, dir)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, p.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		response, err := trust.RoundTrip(request)
		if err == nil {
			err = response.Body.Close()
		}
		ended <- err
	}()
	<-asked
	write(t, filepath.Join(dir, "ca.crt"), newAuthority(t, "two").pem)
	trust.LookAgain()
	if got := ping(t, trust, p.host); !strings.Contains(got, `issuer "CN=one"`) {
		t.Errorf("new connection: %q", got)
	}
	close(answer)
	if err := <-ended; err != nil {
		t.Errorf("connection in use: %v", err)
	}
}
