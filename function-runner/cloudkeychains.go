// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build cloudkeychains

package main

import "github.com/krmfn/krmfn/internal/providers/credentials"

func init() { keychain = credentials.Keychain() }
