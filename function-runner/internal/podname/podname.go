// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podname names function pods. The name is the lock between replicas of the function runner: two that want a pod
// with the same ordinal ask for the same name, and one of them gets it.
package podname

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/krmfn/krmfn/services/images/reference"
)

// Identity is what the pods of one pool have in common.
type Identity struct {
	// Image is the function's image as it was resolved: with registry, and tag or digest.
	Image string
	// Digest is the digest of the image that runs, "sha256:" and 64 hexadecimal digits.
	Digest string
	// Template is the version of the template of the pods: a changed template makes another pool.
	Template string
}

const (
	// maxLength is that of a DNS label: the name is also that of the pod's Service, and the value of a label.
	maxLength = 63
	// hashLength is how many hexadecimal digits of a hash tell pools apart. Porch has as many of the digest.
	hashLength = 8
)

// Of returns the name of the pod with an ordinal: function, tag, ordinal and a hash of all that the pool is, the form that Porch gives
// names of pods. It is a DNS label that begins with a letter (RFC 1035), whatever the image is called: function and tag
// are for people, and are shortened and cleaned where they have to be.
func (id Identity) Of(ordinal int) string {
	end := "-" + strconv.Itoa(ordinal) + "-" + id.Hash()
	_, tag, digest := reference.Split(id.Image)
	switch {
	case tag == "" && digest == "":
		tag = "latest"
	case tag == "":
		// The digest is in the hash, and would leave no room for the function.
		tag = "digest"
	}
	function := label(reference.BaseName(id.Image))
	if function == "" || function[0] < 'a' || function[0] > 'z' {
		function = "fn-" + function
	}
	// Porch leaves the dots of a tag out.
	name := strings.TrimRight(function, "-") + "-" + label(strings.ReplaceAll(tag, ".", ""))
	if len(name)+len(end) > maxLength {
		name = name[:maxLength-len(end)]
	}
	return strings.TrimRight(name, "-") + end
}

// Hash returns what tells the pool from all others, for labels.
func (id Identity) Hash() string {
	h := sha256.New()
	for _, part := range []string{id.Image, id.Digest, id.Template} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:hashLength]
}

// String returns the identity as one text. Other identities have other texts.
func (id Identity) String() string { return id.Image + "\x00" + id.Digest + "\x00" + id.Template }

// label returns text in the letters of a DNS label.
func label(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
}

// Ordinal returns the ordinal in the name of a pod that Of has named; 0 for another name.
func Ordinal(name string) int {
	parts := strings.Split(name, "-")
	if len(parts) < 3 {
		return 0
	}
	ordinal, err := strconv.Atoi(parts[len(parts)-2])
	if err != nil {
		return 0
	}
	return ordinal
}
