// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package policy decides which images may run, based on a file of the installation's operator.
package policy

import (
	"fmt"
	"slices"

	"github.com/krmfn/krmfn/services/images/reference"
)

// Policy decides which images are permitted. A nil Policy permits all images. It is safe for concurrent use.
//
// It compares the repository from which container runtimes would pull: alpine and index.docker.io/alpine are docker.io/library/alpine.
// Other aliases are not resolved: a registry in capital letters, or with its default port, is a different one and needs a separate
// rule.
type Policy struct {
	// restricted means that an image needs an allow rule. Otherwise, all images are permitted.
	restricted bool
	rules      []rule
	floating   floatingTags
	signatures []*SignatureRule
}

// floatingTags says how to treat references whose tag can move to another image.
type floatingTags string

const (
	floatingAllow  floatingTags = "allow"
	floatingWarn   floatingTags = "warn"
	floatingRefuse floatingTags = "refuse"
)

// rule permits images that match all of its fields. Empty fields match everything.
type rule struct {
	// prefix is the registry and the first path elements of a repository. repository is the whole repository.
	prefix, repository string
	digest             string
}

// Rule is the kind of rule that refused an image.
type Rule string

const (
	// RuleAllow means that no entry of allow matches the image.
	RuleAllow Rule = "allow"
	// RuleFloatingTags means that the image's tag can move.
	RuleFloatingTags Rule = "floating_tags"
	// RuleDigest means that the digest to run differs from the one in the reference.
	RuleDigest Rule = "digest"
	// RuleSignatures means that the image lacks the signatures that the policy requires.
	RuleSignatures Rule = "signatures"
	// RuleReference means that the reference is invalid.
	RuleReference Rule = "reference"
)

// RefusedError reports that the policy does not permit an image.
type RefusedError struct {
	// Image is the reference in the request.
	Image string
	// Rule is the kind of rule that refused the image.
	Rule Rule
	// Reason says why, and what to do, in one line.
	Reason string
}

func (e *RefusedError) Error() string {
	return fmt.Sprintf("image %q is not permitted: %s", e.Image, e.Reason)
}

// Refused returns a *RefusedError if the image is not permitted with any digest. Call it before the digest is known, to avoid a
// registry request. Call RefusedDigest when the digest is known.
func (p *Policy) Refused(reference string) error {
	if p.permitsAll() {
		return nil
	}
	image, err := parse(reference)
	if err != nil {
		return err
	}
	if p.floating == floatingRefuse && image.floats() {
		return &RefusedError{reference, RuleFloatingTags, fmt.Sprintf(
			"its tag %q can move, which the image policy refuses: use a full version, such as v1.2.3, or a digest", image.tag)}
	}
	return p.decide(image, image.digest)
}

// RefusedDigest is like Refused for an image whose digest ("sha256:…") is known, and applies rules with digests. If digest is empty,
// the one in the reference is used; if there is none, rules with digests do not match. A digest that differs from the one in the
// reference is refused.
func (p *Policy) RefusedDigest(reference, digest string) error {
	if err := p.Refused(reference); err != nil || p.permitsAll() {
		return err
	}
	image, err := parse(reference)
	switch {
	case err != nil:
		return err
	case digest == "":
		digest = image.digest
	case image.digest != "" && image.digest != digest:
		return &RefusedError{reference, RuleDigest, fmt.Sprintf("it would run with another digest, %q", digest)}
	}
	if digest == "" {
		digest = noDigest
	}
	return p.decide(image, digest)
}

// JudgesDigests reports whether a rule contains a digest or requires signatures. A decision of such a policy applies only to the digest
// that it was made for.
func (p *Policy) JudgesDigests() bool {
	return p != nil && (len(p.signatures) > 0 || slices.ContainsFunc(p.rules, func(r rule) bool { return r.digest != "" }))
}

// Warning returns a line of text for an image that is permitted although its tag can move, and "" for others.
func (p *Policy) Warning(reference string) string {
	if p == nil || p.floating != floatingWarn {
		return ""
	}
	image, err := parse(reference)
	if err != nil || !image.floats() {
		return ""
	}
	return fmt.Sprintf("image %q has the tag %q, which can move: use a full version, such as v1.2.3, or a digest", reference, image.tag)
}

// noDigest is a digest that matches no rule.
const noDigest = "none"

func (p *Policy) permitsAll() bool { return p == nil || !p.restricted && p.floating != floatingRefuse }

// decide looks for a matching rule. If digest is empty, rules with any digest match, because the image may have it.
func (p *Policy) decide(image parsed, digest string) error {
	if !p.restricted || slices.ContainsFunc(p.rules, func(r rule) bool {
		return r.matches(image.repository) && (r.digest == "" || digest == "" || r.digest == digest)
	}) {
		return nil
	}
	what := fmt.Sprintf("repository %q", image.repository)
	if digest != "" && digest != noDigest {
		what += fmt.Sprintf(" or digest %q", digest)
	}
	return &RefusedError{image.reference, RuleAllow, fmt.Sprintf(
		"no rule of the image policy allows %s: use an image that it allows, or have a rule added for this one", what)}
}

func (r *rule) matches(repository string) bool {
	_, below := reference.CutPrefix(repository, r.prefix)
	return (r.repository == "" || r.repository == repository) && (r.prefix == "" || below)
}
