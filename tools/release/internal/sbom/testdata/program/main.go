// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Command program has modules of this repository and of others, and is quick to build.
package main

import (
	"fmt"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/mod/semver"

	"github.com/krmfn/krmfn/internal/server/version"
)

func main() {
	fmt.Println(semver.IsValid(version.Version()), cmp.Equal(1, 1))
}
