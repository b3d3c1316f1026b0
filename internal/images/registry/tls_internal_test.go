// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"crypto/x509"
	"net/url"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Trust keeps the system's authorities and proxies.
func TestTrustAddsToTheDefault(t *testing.T) {
	t.Parallel()
	system, err := x509.SystemCertPool()
	if err != nil {
		t.Fatal(err)
	}
	trust := NewTrust(TrustOptions{Dir: filepath.Join(t.TempDir(), "lost")})
	transport := trust.transport(t.Context(), &url.URL{Scheme: "https", Host: "r.io"})
	if !transport.TLSClientConfig.RootCAs.Equal(system) || transport.Proxy == nil || !transport.ForceAttemptHTTP2 {
		t.Errorf("transport() differs from NewTransport()")
	}
}

func TestDirectoriesOf(t *testing.T) {
	t.Parallel()
	for host, want := range map[string][]string{
		"r.io":         {"r.io:443", "r.io_443_", "r.io"},
		"r.io:443":     {"r.io:443", "r.io_443_", "r.io"},
		"r.io:5000":    {"r.io:5000", "r.io_5000_"},
		"[fe80::1]:50": {"[fe80::1]:50", "fe80::1_50_"},
	} {
		if diff := cmp.Diff(want, directoriesOf(&url.URL{Scheme: "https", Host: host})); diff != "" {
			t.Errorf("directoriesOf(%s) (-want +got):\n%s", host, diff)
		}
	}
}
