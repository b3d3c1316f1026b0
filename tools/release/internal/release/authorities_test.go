// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package release_test

import (
	"crypto/x509"
	"encoding/pem"
	"testing"

	"github.com/krmfn/krmfn/tools/release/internal/release"
)

func TestAuthorities(t *testing.T) {
	t.Parallel()

	data, err := release.Authorities()
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
			t.Errorf("IsCA of %s = false, want true", certificate.Subject)
		}
		found++
	}
	if found < 50 {
		t.Errorf("Authorities() returned %d certificates, want at least 50", found)
	}
}
