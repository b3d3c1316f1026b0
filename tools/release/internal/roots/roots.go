// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package roots has the certificates that released images trust: Mozilla's, of the release that go.mod pins, so that images
// do not depend on what the machine that builds them trusts.
package roots

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

const modulePath = "golang.org/x/crypto/x509roots/fallback"

// PEM returns the certificates. Those that Mozilla trusts only up to a date are left out: PEM cannot say so.
func PEM() ([]byte, error) {
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
		return nil, errors.New("certificate authorities: the module " + modulePath + " has none")
	}
	return buf.Bytes(), nil
}

// Module is the Go module that the certificates come from.
func Module() (sbom.Module, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return sbom.Module{}, errors.New("certificate authorities: this program does not know its modules; build it with go build")
	}
	i := slices.IndexFunc(info.Deps, func(m *debug.Module) bool { return m.Path == modulePath })
	if i < 0 {
		return sbom.Module{}, errors.New("certificate authorities: this program is without the module " + modulePath)
	}
	return sbom.Module{Path: modulePath, Version: info.Deps[i].Version, Sum: info.Deps[i].Sum}, nil
}
