// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/krmfn/krmfn/tools/release/internal/sbom"
)

const authoritiesModule = "golang.org/x/crypto/x509roots/fallback"

// Authorities returns Mozilla's certificate authorities in PEM format. go.mod pins the version, so released images do not depend on the
// machine that builds them. Authorities that Mozilla trusts only for older certificates are skipped, because PEM has no field for the
// constraint.
func Authorities() ([]byte, error) {
	var buf bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		if err := pem.Encode(&buf, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, fmt.Errorf("certificate authorities: %w", err)
		}
	}
	if buf.Len() == 0 {
		return nil, errors.New("certificate authorities: the module " + authoritiesModule + " has none")
	}
	return buf.Bytes(), nil
}

// AuthoritiesModule returns the Go module that contains the certificate authorities.
func AuthoritiesModule() (sbom.Module, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return sbom.Module{}, errors.New("certificate authorities: this program has no build information; build it with go build")
	}
	i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == authoritiesModule })
	if i < 0 {
		return sbom.Module{}, errors.New("certificate authorities: this program is built without the module " + authoritiesModule)
	}
	return sbom.Module{Path: authoritiesModule, Version: info.Deps[i].Version, Sum: info.Deps[i].Sum}, nil
}
