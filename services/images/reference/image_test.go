// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/services/images/reference"
)

const hex = "85913d4ec8db62053eb060ff1b7e26d13ff8853b75cae4d0461b8a1c7ddd4947"

func TestResolve(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, prefix, want string }{
		{"set-labels", reference.CatalogPrefix, "ghcr.io/kptdev/krm-functions-catalog/set-labels"},
		{"set-labels:v0.2", "gcr.io/kpt-fn//", "gcr.io/kpt-fn/set-labels:v0.2"},
		{"set-labels@sha256:" + hex, "r.io:5000/x/", "r.io:5000/x/set-labels@sha256:" + hex},
		{"set-labels", "", "set-labels"},
		{"set-labels", "///", "set-labels"},
		{"builtins/gen", "r.io", "builtins/gen"},
		{"r.io/a/b:c", "other.io", "r.io/a/b:c"},
		{"oci:set-labels", "r.io", "oci:set-labels"},
		{"docker-archive:set-labels.tar", "r.io", "docker-archive:set-labels.tar"},
	} {
		if got, err := reference.Resolve(tc.name, tc.prefix); err != nil || got != tc.want {
			t.Errorf("Resolve(%q, %q) = %q, %v; want %q", tc.name, tc.prefix, got, err, tc.want)
		}
	}
	for _, bad := range []string{"", "a b", "a\n", "a\x00", "ä", "a\u00a0b"} {
		if got, err := reference.Resolve(bad, "r.io"); err == nil {
			t.Errorf("Resolve(%q) = %q, want an error", bad, got)
		}
	}
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ ref, repository, tag, digest, base, catalog string }{
		{"set-labels", "set-labels", "", "", "set-labels", "set-labels"},
		{"set-labels:v1", "set-labels", "v1", "", "set-labels", "set-labels"},
		{"r.io:5000/a/fn", "r.io:5000/a/fn", "", "", "fn", ""},
		{"r.io:5000/a/fn:v1@sha256:ab", "r.io:5000/a/fn", "v1", "sha256:ab", "fn", ""},
		{"r.io/a/fn@sha256:ab", "r.io/a/fn", "", "sha256:ab", "fn", ""},
		{"gcr.io/kpt-fn/x:unstable", "gcr.io/kpt-fn/x", "unstable", "", "x", "x"},
		{reference.CatalogPrefix + "/x@sha256:ab", reference.CatalogPrefix + "/x", "", "sha256:ab", "x", "x"},
		{reference.CatalogPrefix + "-evil/x", reference.CatalogPrefix + "-evil/x", "", "", "x", ""},
		{"mirror.io/fns/x:1", "mirror.io/fns/x", "1", "", "x", "x"},
		{"", "", "", "", "", ""},
	} {
		repository, tag, digest := reference.Split(tc.ref)
		if repository != tc.repository || tag != tc.tag || digest != tc.digest {
			t.Errorf("Split(%q) = %q, %q, %q", tc.ref, repository, tag, digest)
		}
		if got := reference.BaseName(tc.ref); got != tc.base {
			t.Errorf("BaseName(%q) = %q, want %q", tc.ref, got, tc.base)
		}
		if got := reference.CatalogName(tc.ref, "", "mirror.io/fns/"); got != tc.catalog {
			t.Errorf("CatalogName(%q) = %q, want %q", tc.ref, got, tc.catalog)
		}
	}
}

func TestForFunction(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, tag, prefix, want string }{
		{"set-labels", "", reference.CatalogPrefix, reference.CatalogPrefix + "/set-labels:latest"},
		{"set-labels:v0.1", "", reference.CatalogPrefix, reference.CatalogPrefix + "/set-labels:v0.1"},
		{"r.io/x@sha256:" + hex, "", "", "r.io/x@sha256:" + hex},
		{"set-labels:v0.1", "v2.0", reference.CatalogPrefix, reference.CatalogPrefix + "/set-labels:v2.0"},
		{"r.io/x:v1@sha256:" + hex, "0.1", "", "r.io/x:0.1"},
		{"alpine", "foo", "", "docker.io/library/alpine:foo"},
		{"builtins/x", "v1.2", "r.io", "docker.io/builtins/x:v1.2"},
		{"r.io/x", "stable", "", "r.io/x:stable"},
		{"oci:./dir/Image:v1", "", "r.io", "oci:./dir/Image:v1"},
	} {
		if got, err := reference.ForFunction(tc.name, tc.tag, tc.prefix); err != nil || got != tc.want {
			t.Errorf("ForFunction(%q, %q) = %q, %v; want %q", tc.name, tc.tag, got, err, tc.want)
		}
	}
	for _, tc := range []struct{ name, tag, want string }{
		{"", "", "image is empty"},
		{"r.io/UPPER", "", "invalid"},
		{"r.io/UPPER", "v1", "invalid"},
		{"r.io/x", "~0.1", "version constraint"},
		{"r.io/x", ">=1.0 <2", "version constraint"},
		{"r.io/x", "1.x", "version constraint"},
		{"oci:dir", "v1", "takes no tag"},
		{"oci:dir", "~1", "takes no tag"},
		{"r.io/x", "a/b", "must be a valid image tag"},
		{"r.io/x", "v1.2.3+build", "must be a valid image tag"},
		{"r.io/x", strings.Repeat("a", 129), "must be a valid image tag"},
	} {
		if got, err := reference.ForFunction(tc.name, tc.tag, ""); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("ForFunction(%q, %q) = %q, %v; want an error with %q", tc.name, tc.tag, got, err, tc.want)
		}
	}
}

func TestValidatePrefix(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"", "r.io", "r.io/", "localhost:5000", "localhost:5000/a//", "docker.io/team", reference.CatalogPrefix} {
		if err := reference.ValidatePrefix(good); err != nil {
			t.Errorf("ValidatePrefix(%q) = %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"https://r.io":  "scheme",
		"r.io/a?b":      "'?' or '#'",
		"r.io/a b":      "valid registry path",
		"r.io/Upper":    "valid registry path",
		"r.io/a@sha256": "valid registry path",
	} {
		if err := reference.ValidatePrefix(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ValidatePrefix(%q) = %v, want %q", bad, err, want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"a", "a:b", "a@sha256:b", "r.io:1/a/b:c@d", ":", "@", "/:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ref string) {
		repository, tag, digest := reference.Split(ref)
		if len(repository)+len(tag)+len(digest) > len(ref) {
			t.Errorf("Split(%q) = %q, %q, %q , which is longer than the input", ref, repository, tag, digest)
		}
		if reference.Validate(ref) != nil {
			return
		}
		joined := repository
		if tag != "" {
			joined += ":" + tag
		}
		if digest != "" {
			joined += "@" + digest
		}
		if joined != ref {
			t.Errorf("Split(%q) = %q, %q, %q , which lacks a part", ref, repository, tag, digest)
		}
	})
}

func BenchmarkResolve(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := reference.Resolve("ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0", reference.CatalogPrefix); err != nil {
			b.Fatal(err)
		}
	}
}
