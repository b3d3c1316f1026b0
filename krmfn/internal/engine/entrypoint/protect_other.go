// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package entrypoint

func protect() {}
