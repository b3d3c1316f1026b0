// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package sbom creates bills of materials of images in the format SPDX 2.3, from the build information in Go programs.
//
// The build information is complete. syft and sigs.k8s.io/bom would add several hundred modules to this program, and cyclonedx-gomod writes
// another format. None of them reports the commit as the version of krmfn's own modules, or the module that contains the certificate
// authorities.
package sbom

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	"github.com/spdx/tools-golang/spdx/v2/v2_3"
)

// MediaType is the media type of documents.
const MediaType = "application/spdx+json"

const (
	repository = "https://github.com/krmfn/krmfn"
	ownModules = "github.com/krmfn/krmfn"
	unknown    = "NOASSERTION"
)

// Subject is an image for one architecture.
type Subject struct {
	Name, Version, Arch string
	// Digest is the digest of the image's manifest, "sha256:...".
	Digest string
	// Revision is the commit. It is the version of krmfn's own modules.
	Revision string
	// Created is the time of the document.
	Created time.Time
	// Programs are the paths on this machine of Go programs, by path in the image.
	Programs map[string]string
	// Data are modules in the image that no program links.
	Data []Module
}

// Document creates the document. Equal subjects and programs give equal documents.
func Document(s Subject) (*v2_3.Document, error) {
	root := imagePackage(s)
	doc := &v2_3.Document{
		SPDXVersion:    v2_3.Version,
		DataLicense:    v2_3.DataLicense,
		SPDXIdentifier: "DOCUMENT",
		DocumentName:   fmt.Sprintf("%s %s linux/%s", s.Name, s.Version, s.Arch),
		// A namespace must be unique, and the digest is.
		DocumentNamespace: repository + "/spdx/" + s.Name + "/" + s.Digest,
		CreationInfo: &v2_3.CreationInfo{
			Creators: []common.Creator{{CreatorType: "Organization", Creator: "The krmfn Authors"}},
			Created:  s.Created.UTC().Format(time.RFC3339),
		},
		Packages:      []*v2_3.Package{root},
		Relationships: []*v2_3.Relationship{relation("DOCUMENT", common.TypeRelationshipDescribe, root.PackageSPDXIdentifier)},
	}
	modules := make(map[common.ElementID]*v2_3.Package)
	for _, path := range slices.Sorted(maps.Keys(s.Programs)) {
		if err := addProgram(doc, modules, s, path); err != nil {
			return nil, err
		}
	}
	for _, m := range s.Data {
		p := m.spdx(s.Revision)
		modules[p.PackageSPDXIdentifier] = p
		doc.Relationships = append(doc.Relationships, relation(root.PackageSPDXIdentifier, common.TypeRelationshipContains, p.PackageSPDXIdentifier))
	}
	for _, id := range slices.Sorted(maps.Keys(modules)) {
		doc.Packages = append(doc.Packages, modules[id])
	}
	return doc, nil
}

func addProgram(doc *v2_3.Document, modules map[common.ElementID]*v2_3.Package, s Subject, path string) error {
	program, linked, err := readProgram(path, s.Programs[path], s.Revision)
	if err != nil {
		return fmt.Errorf("program %s of image %s for %s: %w", path, s.Name, s.Arch, err)
	}
	doc.Packages = append(doc.Packages, program)
	root := doc.Packages[0].PackageSPDXIdentifier
	doc.Relationships = append(doc.Relationships, relation(root, common.TypeRelationshipContains, program.PackageSPDXIdentifier))
	for _, m := range linked {
		p := m.spdx(s.Revision)
		modules[p.PackageSPDXIdentifier] = p
		doc.Relationships = append(doc.Relationships,
			relation(program.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, p.PackageSPDXIdentifier))
	}
	return nil
}

// Write writes a document as JSON.
func Write(doc *v2_3.Document, w io.Writer) error {
	if err := spdxjson.Write(doc, w, spdxjson.Indent(" "), spdxjson.EscapeHTML(false)); err != nil {
		return fmt.Errorf("write the bill of materials %s: %w", doc.DocumentName, err)
	}
	return nil
}

func imagePackage(s Subject) *v2_3.Package {
	p := newPackage("Image-"+s.Name, s.Name, s.Version)
	p.PackageSupplier = &common.Supplier{SupplierType: "Organization", Supplier: "The krmfn Authors"}
	p.PackageHomePage = repository
	p.PackageLicenseDeclared = "Apache-2.0"
	p.PrimaryPackagePurpose = "CONTAINER"
	p.PackageExternalReferences = purl(fmt.Sprintf("pkg:oci/%s@%s?arch=%s&tag=%s", s.Name, escape(s.Digest), s.Arch, escape(s.Version)))
	return p
}

func newPackage(id, name, version string) *v2_3.Package {
	return &v2_3.Package{
		PackageName:               name,
		PackageSPDXIdentifier:     common.ElementID(id),
		PackageVersion:            version,
		PackageDownloadLocation:   unknown,
		IsFilesAnalyzedTagPresent: true,
		PackageLicenseConcluded:   unknown,
		PackageLicenseDeclared:    unknown,
		PackageCopyrightText:      unknown,
	}
}

func relation(from common.ElementID, kind string, to common.ElementID) *v2_3.Relationship {
	return &v2_3.Relationship{
		RefA: common.MakeDocElementID("", string(from)), RefB: common.MakeDocElementID("", string(to)), Relationship: kind,
	}
}

// purl returns a package URL. Vulnerability scanners look up packages by it.
func purl(locator string) []*v2_3.PackageExternalReference {
	return []*v2_3.PackageExternalReference{{
		Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: locator,
	}}
}
