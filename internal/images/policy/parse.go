// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"strings"

	"github.com/krmfn/krmfn/internal/server/configfile"
)

const (
	apiVersion = "krmfn.dev/v1alpha1"
	kind       = "ImagePolicy"
	// MaxSize is the maximum size of a policy in bytes. It leaves room for metadata within the limit of a ConfigMap.
	MaxSize = 1000 << 10
)

type file struct {
	APIVersion   string        `json:"apiVersion"`
	Kind         string        `json:"kind"`
	Allow        *[]entry      `json:"allow"`
	FloatingTags *floatingTags `json:"floatingTags"`
	// TrustedRoot is the name of a file.
	TrustedRoot *string           `json:"trustedRoot"`
	Signatures  *[]signatureEntry `json:"signatures"`
}

type entry struct {
	Prefix     *string `json:"prefix"`
	Repository *string `json:"repository"`
	Digest     *string `json:"digest"`
}

// Parse parses a policy, which is one YAML document:
//
//	apiVersion: krmfn.dev/v1alpha1
//	kind: ImagePolicy
//	allow:                 # absent: every image is permitted; an empty list: none is
//	  - prefix: ghcr.io/kptdev/krm-functions-catalog   # whole path elements
//	  - repository: r.io/team/fn
//	    digest: sha256:…   # all fields of an entry must match
//	floatingTags: allow    # or warn, or refuse; default allow
//	trustedRoot: trusted_root.json   # Sigstore's trusted root, required for keyless; no default
//	signatures:            # absent: no signatures are required; an image must satisfy all rules that match it
//	  - repository: r.io/team/fn     # or prefix; without both, all images
//	    keys: [{file: team.pub}]     # or data: PEM; one of keys and keyless must have signed
//	    keyless: [{issuer: https://accounts.example.org, subject: me@example.org}]   # or subjectRegExp
//	    attestations: [{predicateType: https://slsa.dev/provenance/v1}]
//
// A reference has a floating tag if it has no digest and its tag is not a full version (v1.2.3, with or without pre-release). Errors
// are one line and name the field. Unknown fields, and fields without a value, are errors. Files that the policy names are errors, too;
// use ReadFile.
func Parse(text []byte) (*Policy, error) {
	return parsePolicy(text, func(name string) ([]byte, error) {
		return nil, fmt.Errorf("file %q is not supported here: use the content", name)
	})
}

func parsePolicy(text []byte, readFile readFunc) (*Policy, error) {
	f, err := read(text)
	if err != nil {
		return nil, fmt.Errorf("image policy: %w", err)
	}
	p := &Policy{floating: floatingAllow}
	if f.FloatingTags != nil {
		p.floating = *f.FloatingTags
	}
	switch p.floating {
	case floatingAllow, floatingWarn, floatingRefuse:
	default:
		return nil, fmt.Errorf("image policy: floatingTags is %q, want allow, warn or refuse", p.floating)
	}
	p.restricted = f.Allow != nil
	for i, e := range value(f.Allow) {
		r, err := e.rule()
		if err != nil {
			return nil, fmt.Errorf("image policy: allow[%d]: %w", i, err)
		}
		p.rules = append(p.rules, r)
	}
	var trustedRoot []byte
	if f.TrustedRoot != nil {
		if trustedRoot, err = readFile(*f.TrustedRoot); err != nil {
			return nil, fmt.Errorf("image policy: trustedRoot: %w", err)
		}
	}
	for i, e := range value(f.Signatures) {
		name := fmt.Sprintf("signatures[%d]", i)
		r, err := e.rule(name, trustedRoot, readFile)
		if err != nil {
			return nil, fmt.Errorf("image policy: %s: %w", name, err)
		}
		p.signatures = append(p.signatures, r)
	}
	return p, nil
}

func read(text []byte) (f file, err error) {
	if len(text) > MaxSize {
		return f, fmt.Errorf("it has more than %d bytes", MaxSize)
	}
	doc, err := configfile.Parse(text)
	switch {
	case err != nil:
		return f, err
	case doc.Empty():
		return f, errors.New("it is empty: give it apiVersion and kind")
	case doc.More:
		return f, errors.New("it has more than one document: put all rules into one")
	}
	problems, err := doc.Decode(&f)
	if err != nil {
		return f, err
	}
	if len(problems) > 0 {
		return f, problems[0]
	}
	if f.APIVersion != apiVersion || f.Kind != kind {
		return f, fmt.Errorf("it has apiVersion %q and kind %q: want %s and %s", f.APIVersion, f.Kind, apiVersion, kind)
	}
	var values any
	if _, err := doc.Decode(&values); err != nil {
		return f, err
	}
	return f, checkValues(values, "")
}

// checkValues rejects fields without a value. If all entries of allow are commented out, allow has no value. Treating it as absent
// would permit every image.
func checkValues(value any, place string) error {
	switch value := value.(type) {
	case nil:
		return fmt.Errorf("%s has no value: set it, use [] for an empty list, or remove it", strings.TrimPrefix(place, "."))
	case map[string]any:
		for key, field := range value {
			if err := checkValues(field, place+"."+key); err != nil {
				return err
			}
		}
	case []any:
		for i, item := range value {
			if err := checkValues(item, fmt.Sprintf("%s[%d]", place, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *entry) rule() (r rule, err error) {
	if e.Prefix == nil && e.Repository == nil && e.Digest == nil {
		return r, errors.New("it is empty: set prefix, repository or digest")
	}
	if r, err = e.repositoryRule(); err == nil && e.Digest != nil {
		r.digest, err = *e.Digest, checkDigest(*e.Digest)
	}
	return r, err
}

// repositoryRule returns the part of a rule that matches repositories.
func (e *entry) repositoryRule() (r rule, err error) {
	if e.Prefix != nil {
		if r.prefix, err = normalPrefix(*e.Prefix); err != nil {
			return r, err
		}
	}
	if e.Repository != nil {
		r.repository, err = normalRepository(*e.Repository)
	}
	return r, err
}
