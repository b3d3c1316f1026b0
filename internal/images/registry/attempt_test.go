// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// If the registry rejects one of several matching credentials, the client tries the next, like the kubelet.
func TestSeveralCredentials(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// entries are paths below the registry and their passwords.
		entries []string
		refused bool
		// first and later are the number of requests of the first lookup, and of a lookup after the puller has expired.
		first, later int
	}{
		// A successful lookup has a ping, a token request and the lookup. A rejected credential has a ping and a token request.
		"one":                {entries: []string{" good"}, first: 3, later: 3},
		"first":              {entries: []string{"/team/fn good", " bad"}, first: 3, later: 3},
		"second":             {entries: []string{"/team/fn bad", "/team good"}, first: 5, later: 3},
		"last":               {entries: []string{"/team/fn bad1", "/team bad2", " good"}, first: 7, later: 3},
		"ends within a name": {entries: []string{"/team bad", "/te good"}, first: 5, later: 3},
		"none":               {entries: []string{"/team bad1", " bad2"}, refused: true, first: 4, later: 4},
		"same":               {entries: []string{"/team/fn bad", "/team bad", " bad"}, refused: true, first: 2, later: 2},
		"whole names first": {
			entries: []string{"/team/fn bad1", "/team/f bad2", "/team bad3", "/tea bad4", " good"},
			first:   7, later: 3,
		},
		"too many": {
			entries: []string{"/team/fn bad1", "/team/ bad2", "/team bad3", "/ bad4", "/team/f good"},
			refused: true, first: 8, later: 8,
		},
		"other repository": {entries: []string{"/team bad", "/other good"}, refused: true, first: 2, later: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGuard(t, "bearer", "good")
			places := make([]string, 0, len(tc.entries))
			for _, entry := range tc.entries {
				path, password, _ := strings.Cut(entry, " ")
				places = append(places, fmt.Sprintf(`"%s%s":%s`, g.host, path, encoded(password)))
			}
			k, _, _ := keychainOf(t, registry.KeychainOptions{}, `{"auths":{`+strings.Join(places, ",")+`}}`)
			c := g.client(registry.Options{Keychain: k})
			for i, want := range []int{tc.first, tc.later} {
				g.asked()
				_, err := c.Digest(t.Context(), g.ref("v1"))
				if refused := kind(err) == "unauthorized"; refused != tc.refused || !refused && err != nil {
					t.Errorf("Digest() = %v", err)
				}
				if asked := g.asked(); len(asked) != want {
					t.Errorf("lookup %d: requests = %q, want %d", i, asked, want)
				}
				c.Age()
			}
		})
	}
}

// New credentials are found even if there were more credentials before.
func TestReplacedCredentials(t *testing.T) {
	t.Parallel()
	g := newGuard(t, "basic", "one")
	k, file, _ := keychainOf(t, registry.KeychainOptions{}, fmt.Sprintf(`{"auths":{"%[1]s/team":%[2]s,"%[1]s":%[3]s}}`, g.host, encoded("zero"), encoded("one")))
	c := g.client(registry.Options{Keychain: k})
	for _, password := range []string{"one", "two"} {
		if _, err := c.Digest(t.Context(), g.ref("v1")); err != nil {
			t.Errorf("Digest() with password %s = %v", password, err)
		}
		g.change("two")
		write(t, file, auths(g.host, encoded("two")))
		k.LookAgain()
	}
}
