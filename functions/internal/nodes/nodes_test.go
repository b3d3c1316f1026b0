// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package nodes

import (
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Every plainWord is a string in YAML.
func TestPlainWord(t *testing.T) {
	t.Parallel()
	word := rapid.OneOf(rapid.StringMatching(`[A-Za-z0-9.+/-]{1,8}`), rapid.SampledFrom([]string{
		"yes", "No", "on", "OFF", "true", "FALSE", "null", "Null", "~", "y", "N", "e3", "inf", ".inf", "nan", "0x1", "1e3", "x", "shop", "",
	}))
	plain := 0
	rapid.Check(t, func(t *rapid.T) {
		text := word.Draw(t, "text")
		if !plainWord(text) {
			return
		}
		plain++
		if yaml.IsValueNonString(text) {
			t.Fatalf("plainWord(%q) = true, but YAML does not parse it as a string", text)
		}
	})
	if plain == 0 {
		t.Error("plainWord() was false for all texts")
	}
}
