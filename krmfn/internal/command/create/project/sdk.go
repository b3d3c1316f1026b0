// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"

	"golang.org/x/mod/modfile"

	"github.com/krmfn/krmfn/internal/server/version"
)

// sdkModule has the Go package for writing functions.
const sdkModule = "github.com/krmfn/krmfn"

// SDK is the Go package that functions use.
type SDK struct {
	// Checkout is the absolute path of a checkout of krmfn that has it; "" means a release.
	Checkout string
	// Version is the version of the package's module.
	Version string
	// Release is the release of krmfn; "" for a krmfn that was built from a checkout.
	Release string
}

// released matches the versions of releases. Other builds have the number of commits since one, and the commit.
var released = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-rc\.[0-9]+)?$`)

// Find completes an SDK: the checkout that it names, or the release that this program is, or else the checkout that the program's
// executable is in.
func (s SDK) Find(executable string) (SDK, error) {
	if v := version.Version(); released.MatchString(v) {
		s.Release = v
	}
	if s.Checkout != "" {
		dir, err := filepath.Abs(s.Checkout)
		if err != nil {
			return s, err
		}
		if !isCheckout(dir) {
			return s, fmt.Errorf("--sdk: %s is not a checkout of krmfn: it has no go.mod of module %s", dir, sdkModule)
		}
		s.Checkout, s.Version = dir, "v0.0.0"
		return s, nil
	}
	if s.Release != "" {
		s.Version = required(s.Release)
		return s, nil
	}
	for dir := filepath.Dir(executable); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if isCheckout(dir) {
			s.Checkout, s.Version = dir, "v0.0.0"
			return s, nil
		}
	}
	return s, fmt.Errorf("this krmfn (%s) is no release, so there is no released Go package for it: name a checkout of krmfn with --sdk", version.Version())
}

// required is the version of the module that this program requires, or the release where the program does not say.
func required(release string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == sdkModule && released.MatchString(dep.Version) {
				return dep.Version
			}
		}
	}
	return release
}

// isCheckout reports whether a directory is a checkout of krmfn.
func isCheckout(dir string) bool {
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(text) == sdkModule
}
