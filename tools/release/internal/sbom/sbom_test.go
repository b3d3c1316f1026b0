// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package sbom_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx"
	"github.com/spdx/tools-golang/spdxlib"

	"github.com/krmfn/krmfn/tools/release/internal/sbom"
)

const (
	digest   = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	revision = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
)

func TestDocumentHasModulesOfProgram(t *testing.T) {
	t.Parallel()

	program := program(t)
	doc := readBack(t, document(t, program))

	got := make([]string, 0, len(doc.Packages))
	for _, p := range doc.Packages {
		if p.PrimaryPackagePurpose == "LIBRARY" {
			got = append(got, strings.TrimSpace(p.PackageName+" "+p.PackageVersion+" "+strings.TrimPrefix(p.PackageSourceInfo, "go.sum ")))
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(listedByGo(t, program), got); diff != "" {
		t.Errorf("modules (-go version -m, +document):\n%s", diff)
	}
}

func TestDocumentIsValid(t *testing.T) {
	t.Parallel()

	doc := readBack(t, document(t, program(t)))
	if err := spdxlib.ValidateDocument(doc); err != nil {
		t.Error(err)
	}
	described, err := spdxlib.GetDescribedPackageIDs(doc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"Image-krmfn"}, toStrings(described)); diff != "" {
		t.Errorf("described (-want +got):\n%s", diff)
	}
	if doc.SPDXVersion != "SPDX-2.3" || doc.CreationInfo.Created != "2026-02-03T04:05:06Z" || !strings.HasSuffix(doc.DocumentNamespace, digest) {
		t.Errorf("version = %s, created = %s, namespace = %s", doc.SPDXVersion, doc.CreationInfo.Created, doc.DocumentNamespace)
	}
	identifiers := make(map[string]bool)
	for _, p := range doc.Packages {
		id := string(p.PackageSPDXIdentifier)
		if identifiers[id] {
			t.Errorf("duplicate identifier %s", id)
		}
		identifiers[id] = true
	}
	// The packages are the image, its two programs, the standard library, and four modules.
	if len(doc.Packages) != 8 || doc.Packages[1].PackageFileName != "/bin/one" || doc.Packages[2].PackageFileName != "/bin/two" {
		t.Errorf("got %d packages, the second one is %+v, want 8 packages with the programs in second and third place", len(doc.Packages), doc.Packages[1])
	}
}

func TestEqualProgramsGiveEqualDocuments(t *testing.T) {
	t.Parallel()

	file := program(t)
	if diff := cmp.Diff(document(t, file), document(t, file)); diff != "" {
		t.Errorf("documents (-first +second):\n%s", diff)
	}
}

func TestDocumentOfScriptFails(t *testing.T) {
	t.Parallel()

	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sbom.Document(sbom.Subject{Name: "krmfn", Arch: "amd64", Programs: map[string]string{"/bin/krmfn": file}})
	if err == nil || !strings.Contains(err.Error(), "program /bin/krmfn of image krmfn for amd64") {
		t.Errorf("Document() error = %v, want one that names the program", err)
	}
}

// program builds a program that links modules of this repository and others, and returns its path.
func program(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-o", file, "./testdata/program")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	return file
}

// document returns the bill of materials of an image that contains a program twice.
func document(t *testing.T, program string) string {
	t.Helper()
	doc, err := sbom.Document(sbom.Subject{
		Name: "krmfn", Version: "v1.2.3", Arch: "amd64", Digest: digest, Revision: revision,
		Created:  time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC),
		Programs: map[string]string{"/bin/one": program, "/bin/two": program},
	})
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if err := sbom.Write(doc, &buf); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

func readBack(t *testing.T, text string) *spdx.Document {
	t.Helper()
	doc, err := spdxjson.Read(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// listedByGo returns the modules in a program as go version -m lists them. The version of this repository's modules is the revision.
func listedByGo(t *testing.T, program string) []string {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "go", "version", "-m", program).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(output), "\n")
	_, toolchain, _ := strings.Cut(lines[0], ": go")
	listed := []string{"stdlib " + toolchain}
	for _, line := range lines[1:] {
		words := strings.Fields(line)
		switch {
		case len(words) < 3 || words[0] != "mod" && words[0] != "dep":
		case strings.HasPrefix(words[1], "github.com/krmfn/krmfn"):
			listed = append(listed, words[1]+" "+revision)
		default:
			listed = append(listed, strings.Join(words[1:], " "))
		}
	}
	slices.Sort(listed)
	return listed
}

func toStrings[S ~string](from []S) []string {
	to := make([]string, len(from))
	for i, s := range from {
		to[i] = string(s)
	}
	return to
}
