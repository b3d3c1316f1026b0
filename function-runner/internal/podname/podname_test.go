// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package podname_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/function-runner/internal/podname"
)

const digest = "sha256:0f5c1f0f6b0d7d8f9a1b2c3d4e5f60718293a4b5c6d7e8f901234567890abcde"

func TestOf(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long-", 20)
	for image, want := range map[string]string{
		"gcr.io/kpt-fn/set-labels:v0.4.1":       "set-labels-v041-1-",
		"r.io/my_function:latest":               "my-function-latest-1-",
		"r.io/fn":                               "fn-latest-1-",
		"r.io/fn@" + digest:                     "fn-digest-1-",
		"r.io/fn:v1@" + digest:                  "fn-v1-1-",
		"r.io/Fn:V1_2+x":                        "fn-v1-2-x-1-",
		"r.io/2fast:v1":                         "fn-2fast-v1-1-",
		"localhost:5000/a/b:1.0":                "b-10-1-",
		"r.io/" + long + ":v1":                  strings.TrimRight(strings.Repeat("long-", 11)[:52], "-") + "-1-",
		"r.io/fn:" + strings.Repeat("t", 128):   "fn-" + strings.Repeat("t", 49) + "-1-",
		"r.io/x__:-" + strings.Repeat(".", 100): "x-1-",
	} {
		p := podname.Identity{Image: image, Digest: digest, Template: "1"}
		if got := p.Of(1); got != want+p.Hash() {
			t.Errorf("Of(1) for %s = %s, want %s", image, got, want+p.Hash())
		}
	}
}

// Different pools and ordinals have different names.
func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	base := podname.Identity{Image: "r.io/fn:v1", Digest: digest, Template: "1"}
	seen := map[string]bool{}
	for _, name := range []string{
		base.Of(1), base.Of(2),
		podname.Identity{Image: "mirror.io/fn:v1", Digest: digest, Template: "1"}.Of(1),
		podname.Identity{Image: "r.io/fn:v1", Digest: "sha256:1", Template: "1"}.Of(1),
		podname.Identity{Image: "r.io/fn:v1", Digest: digest, Template: "2"}.Of(1),
		podname.Identity{Image: "r.io/fn:v1" + digest, Template: "1"}.Of(1),
	} {
		if seen[name] {
			t.Errorf("name %s is not unique", name)
		}
		seen[name] = true
	}
	if base.Of(1) != (podname.Identity{Image: "r.io/fn:v1", Digest: digest, Template: "1"}).Of(1) {
		t.Error("Of() of equal identities differs")
	}
}

var dnsLabel = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$`)

func FuzzOf(f *testing.F) {
	f.Add("r.io/fn:v1", digest, "1", uint32(1))
	f.Add("", "", "", uint32(0))
	f.Add("ü/--:..@sha256:", "x", "\x00", uint32(1<<31))
	f.Fuzz(func(t *testing.T, image, digest, template string, slot uint32) {
		if name := (podname.Identity{Image: image, Digest: digest, Template: template}).Of(int(slot)); !dnsLabel.MatchString(name) {
			t.Errorf("Of() = %q, want a DNS label", name)
		}
	})
}
