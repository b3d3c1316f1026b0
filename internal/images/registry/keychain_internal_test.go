// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/authn"
)

// LookAgain makes the next use read the file, as if rereadInterval had passed.
func (k *Keychain) LookAgain() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.looked = time.Time{}
}

// LookAgain makes the next request read the files, as if rereadInterval had passed.
func (t *Trust) LookAgain() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.looked = time.Time{}
}

// repository returns the repository of a reference.
func repository(t *testing.T, ref string) authn.Resource {
	t.Helper()
	parsed, err := parse(ref)
	if err != nil {
		t.Fatal(err)
	}
	return parsed.Context()
}

// configOf returns a config with an entry for each key. The user name of an entry is its key.
func configOf(t *testing.T, keys ...string) *dockerConfig {
	t.Helper()
	entries := make([]string, 0, len(keys))
	for _, key := range keys {
		entries = append(entries, `"`+key+`":{"username":"`+key+`","password":"p"}`)
	}
	c, problems, err := parseDockerConfig([]byte(`{"auths":{` + strings.Join(entries, ",") + `}}`))
	problems = slices.DeleteFunc(problems, func(problem string) bool { return strings.Contains(problem, "whose end nodes take") })
	if err != nil || len(problems) > 0 {
		t.Fatalf("parseDockerConfig(%q): %v, %v", keys, problems, err)
	}
	return c
}

// For each reference, cases are separated by commas, and keys within a case by spaces. The first key must be selected. "-" means that
// none matches.
func TestMatching(t *testing.T) {
	t.Parallel()
	for ref, cases := range map[string]string{
		"r.example.org/team/fn:v1": "r.example.org, https://r.example.org, http://r.example.org/, https://r.example.org/v1/, " +
			"r.example.org/v2/, https://r.example.org/v2, r.example.org/v2/team, *.example.org, r.*.org, *.*.*, r*.example.org, " +
			"r.example.org/team, r.example.org/team/, r.example.org/team/fn, user@r.example.org, " +
			"- example.org, - *.org, - *, - r.example.org:443, - r.example.org/other, - r.example.org/team/fn/x, - x.example.org, " +
			"- docker.io, r.example.org/team r.example.org *.example.org r.example.org/tea, " +
			"r.example.org/team/fn r.example.org/team r.example.org, r.example.org *.example.org/team, " +
			"*.example.org/team *.example.org, r.example.org r.example.org/tea, r.example.org/tea r.example.org/x",
		"r.example.org:5000/fn":   "r.example.org:5000, *.example.org:5000, - r.example.org, - *.example.org",
		"localhost:5000/fn":       "localhost:5000, *:5000, - localhost",
		"10.1.2.3/fn":             "10.1.2.3, 10.*.*.*",
		"[fe80::1]:5000/fn":       "[fe80::1]:5000, - [fe80::2]:5000",
		"registry-1.docker.io/fn": "registry-1.docker.io, - docker.io",
		"set-labels": "docker.io, index.docker.io, registry-1.docker.io, https://index.docker.io/v1/, https://index.docker.io/v2/, " +
			"https://docker.io/v1, docker.io/library, docker.io/library/set-labels, *.io, *.docker.io, docker.io index.docker.io, " +
			"- docker.io/set-labels, - hub.docker.com",
		"docker.io/team/fn": "docker.io/team docker.io, https://index.docker.io/v1/",
	} {
		for one := range strings.SplitSeq(cases, ", ") {
			keys := strings.Fields(one)
			want := keys[0]
			if want == "-" {
				keys, want = keys[1:], ""
			}
			w, ok := newWanted(repository(t, ref))
			if !ok {
				t.Errorf("newWanted(%s) = false, want true", ref)
				continue
			}
			got := ""
			if found := configOf(t, keys...).all(w); len(found) > 0 {
				got = found[0].Username
			}
			if got != want {
				t.Errorf("credentials for %s, keys %q: selected %q, want %q", ref, keys, got, want)
			}
		}
	}
}

func TestParseDockerConfig(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		content  string
		entries  int
		problems []string
		err      string
	}{
		"all fields": {content: `{"auths":{"a.io":{"auth":"dTpw","email":"e"},"b.io":{"username":"u","password":"p"},
			"c.io":{"identitytoken":"i"},"d.io":{"registrytoken":"r"},"e.io":{},"f.io":{"auth":"dTpwcA"}},"credHelpers":{"g.io":"x"},"credsStore":"y"}`, entries: 5},
		"empty":        {content: `{}`},
		"capitals":     {content: `{"Auths":{"a.io":{"Username":"u","PASSWORD":"p"}}}`, entries: 1},
		"bad base64":   {content: `{"auths":{"a.io":{"auth":"SECRET!"},"b.io":{"auth":"dTpw"}}}`, entries: 1, problems: []string{`invalid entry for "a.io"`}},
		"no colon":     {content: `{"auths":{"a.io":{"auth":"U0VDUkVU"}}}`, problems: []string{`entry for "a.io"`}},
		"a number":     {content: `{"auths":{"a.io":{"username":"SECRET","password":12345}}}`, problems: []string{`entry for "a.io"`}},
		"a string":     {content: `{"auths":{"a.io":"SECRET"}}`, problems: []string{`entry for "a.io"`}},
		"version":      {content: `{"auths":{"a.io/v2":{"auth":"dTpw"},"b.io/v2/":{"auth":"dTpw"}}}`, entries: 2, problems: []string{`key "a.io/v2", whose end nodes`}},
		"half":         {content: `{"auths":{"a.io":{"password":"SECRET"}}}`, problems: []string{`only one of username and password`}},
		"key":          {content: `{"auths":{"u:SECRET@a io":{"auth":"dTpw"},"":{},"a.io?x":{},"oci://b.io":{}}}`, problems: []string{`key "", `, `"a.io?x"`, `"oci://b.io"`, `key "…@a io", `}},
		"unknown":      {content: `{"auth":{"a.io":"SECRET"},"auths":{"a.io":{"auth":"dTpw","pasword":"SECRET"}}}`, entries: 1, problems: []string{`key "auth" is unknown`, `"pasword" in the entry for "a.io"`}},
		"helpers":      {content: `{"credHelpers":{"a.io":"../SECRET","b.io":7,"c io":"x","d.io":""},"credsStore":"a/SECRET"}`, problems: []string{`"a.io"`, `"b.io"`, `"c io"`, "credsStore"}},
		"invalid JSON": {content: `{"auths":{"a.io":{"auth":"SECRET`, err: "error at byte 32 of 32"},
		"two":          {content: `{} "SECRET"`, err: "not valid JSON"},
		"nothing":      {content: ``, err: "not valid JSON"},
		"null":         {content: `null`, err: "not a JSON object"},
		"a list":       {content: `["SECRET"]`, err: "not a JSON object"},
		"auths a list": {content: `{"auths":["SECRET"]}`, err: "needs auths as an object"},
		"store a map":  {content: `{"credsStore":{"SECRET":1}}`, err: "credsStore as a string"},
	} {
		c, problems, err := parseDockerConfig([]byte(tc.content))
		if tc.err != "" {
			if err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s: parseDockerConfig() = %v, want %q", name, err, tc.err)
			}
			continue
		}
		if err != nil || len(c.entries) != tc.entries || len(problems) != len(tc.problems) {
			t.Errorf("%s: parseDockerConfig() = %d entries, problems %q, error %v", name, len(c.entries), problems, err)
			continue
		}
		for i, problem := range problems {
			if !strings.Contains(problem, tc.problems[i]) || strings.Contains(problem, "SECRET") {
				t.Errorf("%s: problem = %q, want %q", name, problem, tc.problems[i])
			}
		}
	}
}

func TestProblemsAreBounded(t *testing.T) {
	t.Parallel()
	var content strings.Builder
	content.WriteString(`{"` + strings.Repeat("k", 1000) + `":1`)
	for i := range 100 {
		content.WriteString(`,"` + strings.Repeat("y", i+1) + `":1`)
	}
	content.WriteString("}")
	_, problems, err := parseDockerConfig([]byte(content.String()))
	if err != nil || len(problems) != maxProblems+1 || !strings.Contains(problems[maxProblems], "81 problems more") {
		t.Errorf("%d problems, error %v: %q", len(problems), err, problems)
	}
	for _, problem := range problems {
		if len(problem) > 250 {
			t.Errorf("problem has %d bytes", len(problem))
		}
	}
}

// Parsing a file twice gives the same credentials for a repository, and their entries match the repository's host and port.
func FuzzDockerConfig(f *testing.F) {
	f.Add(`{"auths":{"*.example.org":{"auth":"dTpw"},"r.example.org/team":{"username":"u","password":"p"}}}`, "r.example.org/team/fn")
	f.Add(`{"auths":{"https://index.docker.io/v1/":{"identitytoken":"t"}},"credHelpers":{"docker.io":"x"}}`, "fn")
	f.Add(`{"auths":{"[::1]:5000":{"registrytoken":"t"},"%zz":{},"a\\b":{}},"credsStore":"y","x":1}`, "[::1]:5000/fn")
	f.Add(`{"auths":null}`, "localhost/fn")
	f.Fuzz(func(t *testing.T, content, ref string) {
		parsed, err := parse(ref)
		if err != nil {
			return
		}
		one, problems, err := parseDockerConfig([]byte(content))
		if err != nil {
			return
		}
		for _, problem := range problems {
			if len(problem) > 1000 || strings.ContainsAny(problem, "\n\r\x00") {
				t.Errorf("problem %q, want one short line", problem)
			}
		}
		w, ok := newWanted(parsed.Context())
		if !ok {
			return
		}
		other, _, err := parseDockerConfig([]byte(content))
		if err != nil {
			t.Fatal(err)
		}
		found := one.all(w)
		if diff := cmp.Diff(found, other.all(w)); diff != "" {
			t.Errorf("credentials for %s differ:\n%s", ref, diff)
		}
		for _, value := range found {
			if !slices.ContainsFunc(one.entries, func(e entry[authn.AuthConfig]) bool {
				return e.value == value && slices.ContainsFunc(w.hosts, func(host string) bool {
					return e.place.has(host, w) && strings.Count(e.place.host, "/") == strings.Count(host, "/") && e.place.port == w.port
				})
			}) {
				t.Errorf("credentials for %s come from an entry that does not match", ref)
			}
		}
	})
}
