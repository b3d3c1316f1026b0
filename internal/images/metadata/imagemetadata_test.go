// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package metadata_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/krmfn/krmfn/internal/images/metadata"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/traits"
)

var digest, other = "sha256:" + strings.Repeat("0a", 32), "sha256:" + strings.Repeat("0b", 32)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	a := registry.Image{Reference: "r.io/a:v1", Digest: digest, Command: []string{"/f", "true"}, User: "1000", Platforms: []string{"linux/amd64"}}
	b := registry.Image{Reference: "r.io/b@" + other, Digest: other, Command: []string{"/b"}}
	c := registry.Image{Reference: "r.io/c", Digest: other, Command: []string{"/c"}, Traits: traits.Traits{Worker: true, Deterministic: true, NoStandby: true}}
	older := a
	older.Digest = other
	text, err := metadata.Format([]registry.Image{c, b, older, a})
	if err != nil {
		t.Fatal(err)
	}
	got, err := metadata.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]registry.Image{a, b, c}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// Images without traits are written without the field.
	if text, err = metadata.Format([]registry.Image{a, b}); err != nil || strings.Contains(string(text), "traits") {
		t.Errorf("Format() of images without traits = %s, %v", text, err)
	}
}

func TestParseErrors(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: krmfn.dev/v1alpha1\nkind: ImageMetadata\n"
	entry := func(image, digest, more string) string {
		return head + "images:\n- {image: " + image + ", digest: '" + digest + "'" + more + "}\n"
	}
	for name, tc := range map[string]struct{ text, want string }{
		"invalid YAML":  {"{", "is invalid"},
		"other kind":    {"apiVersion: v1\nkind: ConfigMap\n", `kind "ConfigMap"`},
		"unknown field": {head + "pictures: []\n", `"pictures"`},
		"bad image":     {entry("r.io/UPPER", digest, ", command: [/f]"), "images[0]"},
		"bad digest":    {entry("r.io/a", "sha256:12", ", command: [/f]"), "sha256:12"},
		"two digests":   {entry("r.io/a@"+digest, other, ", command: [/f]"), "the digest in its reference"},
		"no command":    {entry("r.io/a", digest, ""), "no command"},
		"too large":     {head + "# " + strings.Repeat("x", metadata.MaxSize), "fewer images"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := metadata.Parse([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Parse() = %v, %v; want an error with %q", got, err, tc.want)
			}
		})
	}
}

func TestFormatRejectsTooManyImages(t *testing.T) {
	t.Parallel()
	images := make([]registry.Image, 10_000)
	for i := range images {
		images[i] = registry.Image{Reference: "r.io/a:v" + strconv.Itoa(i), Digest: digest, Command: []string{"/f"}}
	}
	if _, err := metadata.Format(images); err == nil || !strings.Contains(err.Error(), "10000 images") {
		t.Errorf("Format() = %v, want an error that names the number of images", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("apiVersion: krmfn.dev/v1alpha1\nkind: ImageMetadata\nimages:\n- {image: r.io/a, digest: '" + digest + "', command: [/f]}\n"))
	f.Add([]byte("images: [null]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		images, err := metadata.Parse(text)
		if err != nil {
			return
		}
		if _, err := metadata.Format(images); err != nil && len(text) < metadata.MaxSize/4 {
			t.Errorf("Format() of parsed images = %v", err)
		}
	})
}
