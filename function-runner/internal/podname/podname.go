// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package podname names function pods. The names act as locks between replicas of the function runner: replicas that create the pod with
// the same ordinal use the same name, and only one create request succeeds.
package podname

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/krmfn/krmfn/services/images/reference"
)

// Identity identifies a pool.
type Identity struct {
	// Image is the resolved reference of the function's image, with a registry, and a tag or digest.
	Image string
	// Digest is the digest of the image that the pods run: "sha256:" and 64 hexadecimal digits.
	Digest string
	// Template is the version of the pod template. Pods of a changed template belong to another pool.
	Template string
}

const (
	// maxLength is the maximum length of a DNS label. The name of a pod is also the name of its Service and the value of a label.
	maxLength = 63
	// hashLength is the number of hexadecimal digits of the hash in a name. Porch uses the same number of digits of the digest.
	hashLength = 8
)

// Of returns the name of the pod with an ordinal. It consists of function, tag, ordinal and hash, like Porch's names. It is a DNS label
// that begins with a letter (RFC 1035) for any image. Of shortens and sanitises function and tag, which are only for readers.
func (id Identity) Of(ordinal int) string {
	end := "-" + strconv.Itoa(ordinal) + "-" + id.Hash()
	_, tag, digest := reference.Split(id.Image)
	switch {
	case tag == "" && digest == "":
		tag = "latest"
	case tag == "":
		// The digest would leave no space for the function, and is part of the hash.
		tag = "digest"
	}
	function := label(reference.BaseName(id.Image))
	if function == "" || function[0] < 'a' || function[0] > 'z' {
		function = "fn-" + function
	}
	// Porch drops the dots of a tag.
	name := strings.TrimRight(function, "-") + "-" + label(strings.ReplaceAll(tag, ".", ""))
	if len(name)+len(end) > maxLength {
		name = name[:maxLength-len(end)]
	}
	return strings.TrimRight(name, "-") + end
}

// Hash returns a short hash of the identity, for names and labels. Different identities may have the same hash.
func (id Identity) Hash() string {
	h := sha256.New()
	for _, part := range []string{id.Image, id.Digest, id.Template} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil))[:hashLength]
}

// String returns a unique text for the identity.
func (id Identity) String() string { return id.Image + "\x00" + id.Digest + "\x00" + id.Template }

// label replaces the characters that DNS labels do not allow.
func label(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(text))
}

// Ordinal returns the ordinal in a name from Of, or 0 for another name.
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
