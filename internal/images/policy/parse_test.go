// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/images/policy"
)

func TestParseErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                    "it is empty",
		"# nothing\n":         "it is empty",
		"---\n":               "apiVersion",
		"[]":                  "image policy: ",
		"{":                   "image policy: ",
		"kind: ImagePolicy\n": `it has apiVersion "" and kind "ImagePolicy"`,
		strings.Replace(head, "krmfn.dev/v1alpha1", "v2", 1):          `it has apiVersion "v2"`,
		head + "allows: []\n":                                         `unknown field "allows"`,
		head + "Allow: []\n":                                          `unknown field "Allow"`,
		head + "allow: []\nallow: []\n":                               `line 4: mapping key "allow" already defined at line 3`,
		head + "allow: [{prefx: a}]\n":                                `line 3: unknown field "allow[0].prefx"`,
		head + "allow: [{Prefix: a}]\n":                               `unknown field "allow[0].Prefix"`,
		head + "allow: {}\n":                                          "allow",
		head + "allow:\n":                                             "allow has no value",
		head + "allow:\n  # - prefix: a\n":                            "allow has no value",
		head + "allow: ~\n":                                           "allow has no value",
		head + "allow: [{}]\n":                                        "allow[0]: it is empty",
		head + "allow: [{prefix: a}, ]\nfloatingTags:\n":              "floatingTags has no value",
		head + "allow:\n  - prefix: a\n  -\n":                         "allow[1] has no value",
		head + "allow: [{prefix: a, digest: }]\n":                     "allow[0].digest has no value",
		head + "allow: [{prefix: ''}]\n":                              `allow[0]: prefix "" is not a registry path`,
		head + "allow: [{prefix: a/B}]\n":                             `allow[0]: prefix "a/B"`,
		head + "allow: [{prefix: 'https://a.io'}]\n":                  `allow[0]: prefix "https://a.io"`,
		head + "allow: [{prefix: 'a.io/*'}]\n":                        `allow[0]: prefix "a.io/*"`,
		head + "allow: [{prefix: 'a.io/x:v1'}]\n":                     `allow[0]: prefix "a.io/x:v1"`,
		head + "allow: [{repository: ''}]\n":                          `allow[0]: repository "" is not valid`,
		head + "allow: [{repository: 'a.io/x:v1'}]\n":                 `allow[0]: repository "a.io/x:v1" has a tag`,
		head + "allow: [{repository: 'a.io/x@" + good + "'}]\n":       "has a tag or a digest",
		head + "allow: [{digest: ''}]\n":                              `allow[0]: digest "" is not valid`,
		head + "allow: [{digest: 'sha256:12'}]\n":                     `allow[0]: digest "sha256:12" is not valid`,
		head + "allow: [{digest: '" + strings.ToUpper(good) + "'}]\n": "is not valid",
		head + "floatingTags: never\n":                                `floatingTags is "never", want allow, warn or refuse`,
		head + "floatingTags: ''\n":                                   `floatingTags is ""`,
		head + "floatingTags: true\n":                                 "floatingTags",
		head + "---\nallow: []\n":                                     "more than one document",
		head + "# " + strings.Repeat("x", policy.MaxSize):             "more than",
	} {
		_, err := policy.Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Parse(%.200q) = %v, want %s", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head + rules))
	f.Add([]byte(head + "floatingTags: warn\nallow: [{digest: " + pinned + "}]\n"))
	f.Add([]byte(head + "allow: &a []\nx: *a\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := policy.Parse(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("Parse() = %q, want one line", err)
			}
			return
		}
		before, after := p.Refused("r.io/x:v1"), p.RefusedDigest("r.io/x:v1", good)
		if before != nil && after == nil {
			t.Errorf("RefusedDigest() permits what Refused() refuses: %v", before)
		}
	})
}
