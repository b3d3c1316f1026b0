// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package version returns the release of a binary.
package version

import "runtime/debug"

// release is set by the linker in release builds: -X github.com/krmfn/krmfn/internal/server/version.release=v1.2.3.
var release string

// Version returns the release, such as "v1.2.3". For other builds it returns the module version in the build info, or "devel".
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return "devel"
}
