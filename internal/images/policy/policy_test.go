// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/distribution/reference"

	"github.com/krmfn/krmfn/internal/images/policy"
)

const (
	head    = "apiVersion: krmfn.dev/v1alpha1\nkind: ImagePolicy\n"
	catalog = "ghcr.io/kptdev/krm-functions-catalog"
	good    = "sha256:85913d4ec8db62053eb060ff1b7e26d13ff8853b75cae4d0461b8a1c7ddd4947"
	other   = "sha256:f930d9248001fa763799cc81cf2d89bbf83954fc65de0db20ab038a21784f323"
	pinned  = "sha256:6ba3971c64abcd6c3d93039d45721bb5ab496c7fbbc9ac1e685b11577f368ce0"
)

func parse(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse([]byte(head + text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const rules = `allow:
  - prefix: ` + catalog + `/
  - prefix: docker.io/team
  - prefix: localhost:5000
  - repository: r.io/team/fn
  - repository: alpine
  - repository: r.io/team/pinned
    digest: ` + good + `
`

// Rules are compared with the repository that would be pulled.
func TestRules(t *testing.T) {
	t.Parallel()
	p := parse(t, rules)
	for reference, permitted := range map[string]bool{
		catalog + "/set-labels:v0.2":                 true,
		catalog + "/a/b@" + other:                    true,
		catalog + "/set-labels:v0.2@" + other:        true,
		catalog + ":v1":                              true,
		catalog + "-evil/x":                          false,
		"evil.io/" + catalog + "/x":                  false,
		"ghcr.io/kptdev/x":                           false,
		"r.io/team/fn":                               true,
		"r.io/team/fn:v1":                            true,
		"r.io/team/fn/x":                             false,
		"r.io/team/fns":                              false,
		"alpine:3":                                   true,
		"library/alpine":                             true,
		"docker.io/alpine":                           true,
		"index.docker.io/library/alpine:3":           true,
		"alpine/alpine":                              false,
		"busybox":                                    false,
		"team/fn":                                    true,
		"index.docker.io/team/fn":                    true,
		"teams/fn":                                   false,
		"localhost:5000/x":                           true,
		"localhost:5000":                             false, // an image name with a tag
		"localhost/x":                                false,
		"localhost:50000/x":                          false,
		"GHCR.IO/kptdev/krm-functions-catalog/x":     false,
		"ghcr.io:443/kptdev/krm-functions-catalog/x": false,
		"ghcr.io:80/kptdev/krm-functions-catalog/x":  false,
		"ghcr.io./kptdev/krm-functions-catalog/x":    false,
		"www.ghcr.io/kptdev/krm-functions-catalog/x": false,
		"DOCKER.IO/team/fn":                          false,
		"docker.io:443/team/fn":                      false,
		"registry-1.docker.io/team/fn":               false,
		"Team/fn":                                    false,
		"R.io/team/fn":                               false,
		"r.io/Team/fn":                               false,
		"r.io/x/../team/fn":                          false,
		"r.io//team/fn":                              false,
		"/r.io/team/fn":                              false,
		"r.io/team/fn/":                              false,
		"https://r.io/team/fn":                       false,
		"user@r.io/team/fn":                          false,
		" r.io/team/fn":                              false,
		"r.io/team/fn\n":                             false,
		"r.io/team/fn@sha256:1":                      false,
		"r.io/team%2ffn":                             false,
		"r.io\\team/fn":                              false,
		"r.iо/team/fn":                               false, // a Cyrillic о
		"":                                           false,
		"r.io/team/pinned@" + good:                   true,
		"r.io/team/pinned:v1@" + good:                true,
		"r.io/team/pinned@" + other:                  false,
		"r.io/team/other@" + good:                    false,
	} {
		err := p.RefusedDigest(reference, "")
		if permitted != (err == nil) {
			t.Errorf("RefusedDigest(%q) = %v", reference, err)
		}
		if _, ok := errors.AsType[*policy.RefusedError](err); !permitted && !ok || err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("RefusedDigest(%q) = %#v, want a RefusedError of one line", reference, err)
		}
		if (err == nil) != (p.Refused(reference) == nil) {
			t.Errorf("Refused(%q) = %v, RefusedDigest() = %v", reference, p.Refused(reference), err)
		}
		if err := (*policy.Policy)(nil).RefusedDigest(reference, other); err != nil {
			t.Error(err)
		}
		if err := parse(t, "").RefusedDigest(reference, other); err != nil {
			t.Error(err)
		}
		if err := parse(t, "allow: []\n").Refused(reference); err == nil {
			t.Errorf("Refused(%q) with an empty allow = nil, want an error", reference)
		}
	}
}

func TestDigests(t *testing.T) {
	t.Parallel()
	p := parse(t, rules)
	for _, tc := range []struct {
		reference, digest string
		before, after     bool
	}{
		{"r.io/team/pinned:v1", good, true, true},
		{"r.io/team/pinned:v1", other, true, false},
		{"r.io/team/pinned:v1", "", true, false},
		{"r.io/team/pinned:v1", "none", true, false},
		{"r.io/team/other:v1", good, false, false},
		{"r.io/team/fn:v1", other, true, true},
		{"r.io/team/fn@" + good, good, true, true},
		{"r.io/team/fn@" + good, other, true, false},
	} {
		if err := p.Refused(tc.reference); (err == nil) != tc.before {
			t.Errorf("Refused(%s) = %v", tc.reference, err)
		}
		if err := p.RefusedDigest(tc.reference, tc.digest); (err == nil) != tc.after {
			t.Errorf("RefusedDigest(%s, %s) = %v", tc.reference, tc.digest, err)
		}
	}
	anywhere := parse(t, "allow: [{digest: "+pinned+"}]\n")
	if err := anywhere.Refused("x.io/any:v1"); err != nil {
		t.Error(err)
	}
	if err := anywhere.RefusedDigest("x.io/any:v1", pinned); err != nil {
		t.Error(err)
	}
	if err := anywhere.Refused("x.io/any@" + other); err == nil {
		t.Error("Refused() of a reference with another digest = nil, want an error")
	}
	if err := anywhere.RefusedDigest("x.io/any:v1", other); err == nil || !strings.Contains(err.Error(), other) {
		t.Errorf("RefusedDigest() with another digest = %v", err)
	}
}

func TestFloatingTags(t *testing.T) {
	t.Parallel()
	for reference, floats := range map[string]string{
		"r.io/x": "latest", "r.io/x:latest": "latest", "r.io/x:v1": "v1", "r.io/x:v1.2": "v1.2", "r.io/x:main": "main", "r.io/x:v01.2.3": "v01.2.3",
		"r.io/x:vv1.2.3": "vv1.2.3", "r.io/x:1.2.3.4": "1.2.3.4", "r.io/x:v1.2.3_": "v1.2.3_",
		"r.io/x:v1.2.3": "", "r.io/x:1.2.3": "", "r.io/x:v1.2.3-rc.1": "", "r.io/x@" + good: "", "r.io/x:latest@" + good: "",
	} {
		for setting, refused := range map[string]bool{"": false, "floatingTags: allow\n": false, "floatingTags: warn\n": false, "floatingTags: refuse\n": true} {
			p := parse(t, setting)
			err := p.Refused(reference)
			if want := refused && floats != ""; (err != nil) != want || (p.RefusedDigest(reference, good) != nil) != want {
				t.Errorf("Refused(%s) with %q = %v", reference, setting, err)
			}
			if err != nil && !strings.Contains(err.Error(), `"`+floats+`"`) {
				t.Errorf("Refused(%s) with %q = %v, want the tag in the error", reference, setting, err)
			}
			warning := p.Warning(reference)
			if want := setting == "floatingTags: warn\n" && floats != ""; (warning != "") != want || !strings.Contains(warning, floats) && want {
				t.Errorf("Warning(%s) with %q = %q", reference, setting, warning)
			}
		}
	}
	if warning := parse(t, "floatingTags: warn\n").Warning("r.io/UPPER"); warning != "" {
		t.Error(warning)
	}
	if err := parse(t, "floatingTags: refuse\n").Refused("r.io/UPPER"); err == nil {
		t.Error("Refused() of an invalid reference = nil, want an error")
	}
}

// Permitted references belong to a repository or prefix of the rules.
func FuzzRefused(f *testing.F) {
	for _, seed := range []string{"alpine", catalog + "/x:v1", "r.io/team/pinned@" + good, "INDEX.docker.io/team/x", "ghcr.io:443/x", "localhost:5000/a"} {
		f.Add(seed, good)
	}
	f.Fuzz(func(t *testing.T, ref, digest string) {
		p := parse(t, rules)
		before, after := p.Refused(ref), p.RefusedDigest(ref, digest)
		if before != nil && after == nil {
			t.Errorf("RefusedDigest(%q) permits what Refused() refuses: %v", ref, before)
		}
		for _, err := range []error{before, after} {
			if err != nil && strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("error %q, want one line", err)
			}
		}
		_ = parse(t, "floatingTags: warn\n").Warning(ref)
		if before != nil {
			return
		}
		named, err := reference.ParseDockerRef(ref)
		if err != nil {
			t.Fatalf("%q is permitted although it is invalid: %v", ref, err)
		}
		for _, below := range []string{catalog, "docker.io/team", "localhost:5000"} {
			if strings.HasPrefix(named.Name()+"/", below+"/") {
				return
			}
		}
		switch named.Name() {
		case "r.io/team/fn", "docker.io/library/alpine", "r.io/team/pinned":
			return
		}
		t.Errorf("%q is permitted, although it is %q", ref, named)
	})
}

func BenchmarkRefusedDigest(b *testing.B) {
	p := parse(b, rules)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.RefusedDigest(catalog+"/set-labels:v0.2.0", good); err != nil {
			b.Fatal(err)
		}
	}
}
