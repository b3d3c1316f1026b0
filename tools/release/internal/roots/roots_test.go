// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package roots_test

import (
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/krmfn/krmfn/tools/release/internal/roots"
)

func TestCertificatesAreAuthorities(t *testing.T) {
	t.Parallel()

	data, err := roots.PEM()
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if !certificate.IsCA {
			t.Errorf("%s is no authority", certificate.Subject)
		}
		found++
	}
	if found < 50 {
		t.Errorf("%d certificates, want those of all authorities", found)
	}
}
