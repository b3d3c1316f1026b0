// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sbom

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"

	"github.com/krmfn/krmfn/tools/release/internal/programs"
)

// Module is a Go module, or Go's standard library.
type Module struct {
	Path, Version string
	// Sum is the module's checksum in go.sum: "h1:...". Modules of this repository and the standard library have none.
	Sum string
}

// standardLibrary is the path of the standard library in vulnerability databases.
const standardLibrary = "stdlib"

// readProgram returns a program and its modules, in the order of the build information.
func readProgram(path, file, revision string) (*v2_3.Package, []Module, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", file, err)
	}
	sum, err := programs.Sum(file)
	if err != nil {
		return nil, nil, err
	}
	p := newPackage("Program"+identifier(path), info.Path, revision)
	p.PackageFileName = path
	p.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: sum}}
	p.PackageLicenseDeclared = "Apache-2.0"
	p.PrimaryPackagePurpose = "APPLICATION"
	p.PackageSourceInfo = "built by " + info.GoVersion
	return p, modules(info), nil
}

func modules(info *debug.BuildInfo) []Module {
	found := make([]Module, 0, 2+len(info.Deps))
	found = append(found, Module{Path: standardLibrary, Version: strings.TrimPrefix(info.GoVersion, "go")}, Module{Path: info.Main.Path})
	for _, m := range info.Deps {
		// Directories replace the modules of this repository.
		if m.Replace != nil && !modfile.IsDirectoryPath(m.Replace.Path) {
			m = m.Replace
		}
		found = append(found, Module{Path: m.Path, Version: m.Version, Sum: m.Sum})
	}
	return found
}

// spdx returns the module's package. The version of this repository's modules is the commit.
func (m Module) spdx(revision string) *v2_3.Package {
	own := m.Path == ownModules || strings.HasPrefix(m.Path, ownModules+"/")
	if own {
		m.Version = revision
	}
	p := newPackage("Module"+identifier(m.Path+"@"+m.Version), m.Path, m.Version)
	p.PrimaryPackagePurpose = "LIBRARY"
	switch {
	case own:
		p.PackageLicenseDeclared = "Apache-2.0"
		p.PackageDownloadLocation = "git+" + repository
		if revision != "" {
			p.PackageDownloadLocation += "@" + revision
		}
	case m.Path == standardLibrary:
		p.PackageLicenseDeclared = "BSD-3-Clause"
		p.PackageDownloadLocation = "https://go.dev/dl/go" + m.Version + ".src.tar.gz"
		p.PackageExternalReferences = purl("pkg:golang/stdlib@" + m.Version)
	default:
		p.PackageDownloadLocation = archive(m)
		p.PackageExternalReferences = purl("pkg:golang/" + m.Path + "@" + escape(m.Version))
		if m.Sum != "" {
			// This is no SPDX checksum of the package: Go computes it from the files in the archive.
			p.PackageSourceInfo = "go.sum " + m.Sum
		}
	}
	return p
}

var invalidInIdentifiers = regexp.MustCompile(`[^a-zA-Z0-9.]+`)

// identifier returns an SPDX identifier for a text. Different texts have different identifiers.
func identifier(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "-" + strings.Trim(invalidInIdentifiers.ReplaceAllString(text, "-"), "-") + "-" + hex.EncodeToString(sum[:4])
}

// archive returns the download URL of the module's source.
func archive(m Module) string {
	path, err1 := module.EscapePath(m.Path)
	version, err2 := module.EscapeVersion(m.Version)
	if err1 != nil || err2 != nil {
		return unknown
	}
	return "https://proxy.golang.org/" + path + "/@v/" + version + ".zip"
}

// escape escapes a version for a package URL.
func escape(version string) string { return strings.ReplaceAll(url.QueryEscape(version), "%3A", ":") }
