// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !cloudkeychains

package registry

import "github.com/google/go-containerregistry/pkg/authn"

// defaultKeychain has the credentials of Docker's or Podman's configuration. With the build tag cloudkeychains it also has
// those that Google Cloud and AWS give to the machine, or pod, for their own registries: see cloud.go.
func defaultKeychain() authn.Keychain { return authn.DefaultKeychain }
