// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package reference_test

import (
	"flag"
	"strings"
	"testing"

	distribution "github.com/distribution/reference"

	"github.com/krmfn/krmfn/services/images/reference"
)

func rewrites(t testing.TB, rules ...string) *reference.Rewrites {
	t.Helper()
	r := &reference.Rewrites{}
	for _, rule := range rules {
		if err := r.Set(rule); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestRewrites(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 200)
	for _, tc := range []struct{ rules, ref, want string }{
		{"", "r.io/fns/x:v1", "r.io/fns/x:v1"},
		{"gcr.io/kpt-fn=" + reference.CatalogPrefix, "gcr.io/kpt-fn/set-labels:v0.2", reference.CatalogPrefix + "/set-labels:v0.2"},
		{"r.io/fns=m.io", "r.io/fns/a/b:v1@sha256:" + hex, "m.io/a/b:v1@sha256:" + hex},
		{"r.io/fns=m.io", "r.io/fns-evil/x", "r.io/fns-evil/x"},
		{"r.io/fns=m.io", "evil.io/r.io/fns/x", "evil.io/r.io/fns/x"},
		{"r.io/fns//=m.io/y/", "r.io/fns/x", "m.io/y/x"},
		{"r.io=m.io/y", "r.io/fns/x", "m.io/y/fns/x"},
		{"r.io=m.io/y", "r.io:5000/fns/x", "r.io:5000/fns/x"},
		{"r.io:5000=m.io", "r.io:5000/x:v1", "m.io/x:v1"},
		{"r.io/fns/x=m.io/y", "r.io/fns/x:v1", "m.io/y:v1"},
		{"r.io/fns/x=m.io/y", "r.io/fns/x@sha256:" + hex, "m.io/y@sha256:" + hex},
		{"r.io/fns/x=m.io/y", "r.io/fns/x", "m.io/y"},
		// The longest FROM applies, once.
		{"r.io=a.io,r.io/fns=b.io,a.io=c.io,b.io=c.io", "r.io/fns/x", "b.io/x"},
		{"r.io=a.io,r.io/fns=b.io,a.io=c.io,b.io=c.io", "r.io/other/x", "a.io/other/x"},
		// Rules whose result would not be a reference.
		{"r.io/x=m.io", "r.io/x:v1", "r.io/x:v1"},
		{"r.io/x=localhost,r.io=m.io", "r.io/x:v1", "m.io/x:v1"},
		{"r.io=m.io/" + long, "r.io/" + long, "r.io/" + long},
		// Without a slash, 5000 is a tag instead of a port.
		{"localhost:5000=m.io", "localhost:5000", "localhost:5000"},
		// FROM is compared as it is written.
		{"team=m.io/t", "team/fn:v1", "m.io/t/fn:v1"},
		{"team=m.io/t", "docker.io/team/fn", "docker.io/team/fn"},
		{"R.io=m.io", "r.io/x", "r.io/x"},
		{"alpine=m.io/a", "alpine:3", "m.io/a:3"},
		{"alpine=m.io/a", "library/alpine", "library/alpine"},
		// All forms of references on Docker Hub.
		{"docker.io=m.io/hub", "alpine:3", "m.io/hub/library/alpine:3"},
		{"docker.io=m.io/hub", "library/alpine", "m.io/hub/library/alpine"},
		{"docker.io=m.io/hub", "docker.io/alpine", "m.io/hub/library/alpine"},
		{"docker.io=m.io/hub", "index.docker.io/team/fn", "m.io/hub/team/fn"},
		{"docker.io=m.io/hub", "team/fn", "m.io/hub/team/fn"},
		{"docker.io=m.io/hub", "team/fn/x", "m.io/hub/team/fn/x"},
		{"docker.io=m.io/hub", "library/a/b", "m.io/hub/library/a/b"},
		{"docker.io=m.io/hub", "localhost/x", "localhost/x"},
		{"docker.io=m.io/hub", "docker.io:443/x", "docker.io:443/x"},
		{"docker.io=m.io/hub", "docker.io.evil/x", "docker.io.evil/x"},
		{"docker.io=m.io/hub", "Team/x", "Team/x"},
		{"index.docker.io/team=m.io/t", "team/fn", "m.io/t/fn"},
		{"docker.io/team=m.io/t", "teams/fn", "teams/fn"},
		{"docker.io/library=m.io/l", "alpine:3", "m.io/l/alpine:3"},
		{"docker.io/alpine=m.io/a", "library/alpine:3", "m.io/a:3"},
		{"docker.io/library/alpine=m.io/a", "alpine:3", "m.io/a:3"},
		{"docker.io/library/alpine=m.io/a", "alpines", "alpines"},
		{"docker.io/library/alpine=m.io/a", "alpine/x", "alpine/x"},
		{"docker.io/team/fn=m.io/a", "docker.io/team/fn:v1", "m.io/a:v1"},
	} {
		r := &reference.Rewrites{}
		if tc.rules != "" {
			r = rewrites(t, tc.rules)
		}
		if got := r.Apply(tc.ref); got != tc.want {
			t.Errorf("%s: Apply(%q) = %q, want %q", tc.rules, tc.ref, got, tc.want)
		}
	}
}

func TestRewritesAsFlag(t *testing.T) {
	t.Parallel()
	r := &reference.Rewrites{}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.Var(r, "image-rewrite", "")
	if err := flags.Parse([]string{"--image-rewrite=r.io=a.io,x.io/y/=b.io", "--image-rewrite", "docker.io/z=c.io"}); err != nil {
		t.Fatal(err)
	}
	if got, want := r.String(), "docker.io/z=c.io,x.io/y=b.io,r.io=a.io"; got != want || r.Type() != "FROM=TO" {
		t.Errorf("String() = %q, Type() = %q; want %q", got, r.Type(), want)
	}
	if again := rewrites(t, r.String()); again.String() != r.String() {
		t.Errorf("Set(%q) = %q", r, again)
	}
}

func TestRewritesErrors(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"":                              `image rewrite "": want FROM=TO`,
		"a.io":                          `image rewrite "a.io": want FROM=TO`,
		"a.io=b.io,":                    `image rewrite "": want FROM=TO`,
		"=b.io":                         `image rewrite "=b.io": want a prefix on both sides`,
		"a.io=":                         `image rewrite "a.io=": want a prefix on both sides`,
		"a.io=/":                        `image rewrite "a.io=/": invalid image prefix "/"`,
		"a.io=https://b.io":             `invalid image prefix "https://b.io": must not include a scheme`,
		"a.io/X=b.io":                   `invalid image prefix "a.io/X": must be a valid registry path`,
		"a.io=b.io=c.io":                `image rewrite "a.io=b.io=c.io": invalid image prefix "b.io=c.io"`,
		"a.io/x:v1=b.io":                `invalid image prefix "a.io/x:v1"`,
		"c.io=b.io,old.io/=b.io":        `image rewrite "old.io/=b.io": there is another rule for "old.io"`,
		"c.io=b.io,c.io=d.io":           `there is another rule for "c.io"`,
		"docker.io=b,index.docker.io=c": `there is another rule for "docker.io"`,
	} {
		r := rewrites(t, "old.io=m.io")
		err := r.Set(value)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Set(%q) = %v, want %s", value, err, want)
		}
		if r.String() != "old.io=m.io" {
			t.Errorf("rules after a failed Set(%q) = %q", value, r)
		}
	}
}

// The result is a valid reference with the same tag and digest. References on Docker Hub are recognised as by the reference library.
func FuzzRewrites(f *testing.F) {
	for _, seed := range [][2]string{
		{"r.io/a=m.io/b", "r.io/a/x:v1"},
		{"docker.io=m.io", "alpine@sha256:" + hex},
		{"r.io/a=m.io,r.io=localhost:5000", "r.io/a:v1"},
		{"a=b", "a:5000"},
		{"docker.io/library/a=B", "a:v1"},
		{"localhost=x", "localhost:5000/x"},
		{"A=b.io", "A/x"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, rules, ref string) {
		r := &reference.Rewrites{}
		if r.Set(rules) != nil {
			return
		}
		if again := rewrites(t, r.String()); again.String() != r.String() {
			t.Errorf("Set(%q) = %q", r, again)
		}
		if reference.Validate(ref) != nil {
			return
		}
		got := r.Apply(ref)
		if err := reference.Validate(got); err != nil {
			t.Errorf("%s: Apply(%q) = %q: %v", rules, ref, got, err)
		}
		_, tag, digest := reference.Split(ref)
		if _, gotTag, gotDigest := reference.Split(got); gotTag != tag || gotDigest != digest {
			t.Errorf("%s: Apply(%q) = %q has another tag or digest", rules, ref, got)
		}
		named, err := distribution.ParseNormalizedNamed(ref)
		if err != nil {
			return
		}
		hub := rewrites(t, "docker.io=m.io")
		want := ref
		if distribution.Domain(named) == "docker.io" && len(distribution.Path(named)) < 255 {
			want = "m.io/" + distribution.Path(named) + strings.TrimPrefix(named.String(), named.Name())
		}
		if got := hub.Apply(ref); got != want {
			t.Errorf("docker.io=m.io: Apply(%q) = %q, want %q", ref, got, want)
		}
	})
}

//nolint:paralleltest // AllocsPerRun counts the allocations of all goroutines
func TestRewritesAllocateNothingWithoutAMatch(t *testing.T) {
	r := rewrites(t, "gcr.io/kpt-fn=m.io,docker.io/team=m.io,r.io=m.io")
	for _, ref := range []string{reference.CatalogPrefix + "/set-labels:v0.2.0", "alpine:3", "docker.io/other/x@sha256:" + hex} {
		if n := testing.AllocsPerRun(100, func() { _ = r.Apply(ref) }); n != 0 {
			t.Errorf("Apply(%q) allocates %v times", ref, n)
		}
	}
}

func BenchmarkRewrites(b *testing.B) {
	r := rewrites(b, "gcr.io/kpt-fn="+reference.CatalogPrefix, "docker.io=m.io/hub", "r.io/team=m.io/team")
	for name, ref := range map[string]string{"match": "gcr.io/kpt-fn/set-labels:v0.2.0", "none": reference.CatalogPrefix + "/set-labels:v0.2.0"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = r.Apply(ref)
			}
		})
	}
}
