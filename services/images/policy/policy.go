// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package policy decides which images may be run, by a file that the owner of an installation writes.
package policy

import (
	"fmt"
	"slices"

	"github.com/krmfn/krmfn/services/images/reference"
)

// Policy says which images are permitted. A nil Policy permits all. It may be used by any number of goroutines at once.
//
// What is compared is the repository that would be pulled from, as container runtimes read a reference: alpine is
// docker.io/library/alpine, and so is index.docker.io/alpine. Nothing else is taken for the same: a registry written in
// capitals or with the port that it has anyway is another one, and needs a rule of its own.
type Policy struct {
	// restricted tells that an image needs a rule. Without, all are permitted.
	restricted bool
	rules      []rule
	floating   floatingTags
	signatures []*SignatureRule
}

// floatingTags is what becomes of images whose reference may mean another one tomorrow.
type floatingTags string

const (
	floatingAllow  floatingTags = "allow"
	floatingWarn   floatingTags = "warn"
	floatingRefuse floatingTags = "refuse"
)

// rule permits images. What is empty matches all; the rest must match together.
type rule struct {
	// prefix is the registry, and the first path elements, of a repository; repository is all of it.
	prefix, repository string
	digest             string
}

// Rule is a kind of rule that refuses images.
type Rule string

const (
	// RuleAllow is that no entry of allow permits the image.
	RuleAllow Rule = "allow"
	// RuleFloatingTags is that its tag can move.
	RuleFloatingTags Rule = "floating_tags"
	// RuleDigest is that another digest would run than the one of the reference.
	RuleDigest Rule = "digest"
	// RuleSignatures is that the image is not signed as the policy wants.
	RuleSignatures Rule = "signatures"
	// RuleReference is that the reference is not a valid one.
	RuleReference Rule = "reference"
)

// RefusedError says that a policy does not permit an image.
type RefusedError struct {
	// Image is the reference as it was given.
	Image string
	// Rule is what refused it.
	Rule Rule
	// Reason says why, and what to do; one line.
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("image %q is not permitted: %s", e.Image, e.Reason)
}

// Refused returns the *RefusedError for an image that no digest could make a permitted one; nil for others. It is for the
// time before a registry is asked which digest the image has. Where that is known, RefusedDigest must be asked too.
func (p *Policy) Refused(reference string) error {
	if p.idle() {
		return nil
	}
	image, err := parse(reference)
	if err != nil {
		return err
	}
	if p.floating == floatingRefuse && image.floats() {
		return &RefusedError{reference, RuleFloatingTags, fmt.Sprintf(
			"its tag %q can move, which the image policy refuses: name a full version, such as v1.2.3, or a digest", image.tag)}
	}
	return p.decide(image, image.digest)
}

// RefusedDigest is Refused for an image whose digest is known, as "sha256:…": rules of digests are decided. An empty digest
// is that of the reference; where that has none either, no rule of a digest permits the image. Another digest than the
// reference's own is refused.
func (p *Policy) RefusedDigest(reference, digest string) error {
	if err := p.Refused(reference); err != nil || p.idle() {
		return err
	}
	image, err := parse(reference)
	switch {
	case err != nil:
		return err
	case digest == "":
		digest = image.digest
	case image.digest != "" && image.digest != digest:
		return &RefusedError{reference, RuleDigest, fmt.Sprintf("it would be run with another digest, %q", digest)}
	}
	if digest == "" {
		digest = unknown
	}
	return p.decide(image, digest)
}

// JudgesDigests reports whether a rule names a digest or requires signatures. The decision of such a policy holds only for the digest
// that it was made for.
func (p *Policy) JudgesDigests() bool {
	return p != nil && (len(p.signatures) > 0 || slices.ContainsFunc(p.rules, func(r rule) bool { return r.digest != "" }))
}

// Warning returns a line of text for an image that is permitted although its tag can move; "" for others.
func (p *Policy) Warning(reference string) string {
	if p == nil || p.floating != floatingWarn {
		return ""
	}
	image, err := parse(reference)
	if err != nil || !image.floats() {
		return ""
	}
	return fmt.Sprintf("image %q has the tag %q, which can move: name a full version, such as v1.2.3, or a digest", reference, image.tag)
}

// unknown is the digest that no rule has.
const unknown = "none"

func (p *Policy) idle() bool { return p == nil || !p.restricted && p.floating != floatingRefuse }

// decide looks for a rule. Without a digest, one that has a digest counts, as it may be the image's.
func (p *Policy) decide(image parsed, digest string) error {
	if !p.restricted || slices.ContainsFunc(p.rules, func(r rule) bool {
		return r.matches(image.repository) && (r.digest == "" || digest == "" || r.digest == digest)
	}) {
		return nil
	}
	what := fmt.Sprintf("repository %q", image.repository)
	if digest != "" && digest != unknown {
		what += fmt.Sprintf(" or digest %q", digest)
	}
	return &RefusedError{image.reference, RuleAllow, fmt.Sprintf(
		"no rule of the image policy allows %s: use an image that it allows, or have a rule added for this one", what)}
}

func (r *rule) matches(repository string) bool {
	_, below := reference.CutPrefix(repository, r.prefix)
	return (r.repository == "" || r.repository == repository) && (r.prefix == "" || below)
}
