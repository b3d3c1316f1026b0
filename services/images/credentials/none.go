// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !cloudkeychains

package credentials

import "github.com/google/go-containerregistry/pkg/authn"

// Default has the credentials of Docker's or Podman's configuration, those of clouds only with the build tag.
func Default() authn.Keychain { return authn.DefaultKeychain }
