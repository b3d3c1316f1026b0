// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// An image that was pulled can be pushed. If the reference has a tag and a digest, it gets the tag. A rejection is explained.
func TestPush(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	digest := s.push(t, "v1", newImage(t, "linux/amd64", runs("/fn")))
	client := s.client(registry.Options{})
	copyTo := func(target string) error {
		return client.Pull(t.Context(), s.ref("v1"), digest, 1<<20, func(ctx context.Context, d *remote.Descriptor) error {
			return client.Push(ctx, target, d)
		})
	}
	if err := copyTo(s.host + "/copies/fn:v2@" + digest); err != nil {
		t.Fatal(err)
	}
	if got, err := client.Digest(t.Context(), s.host+"/copies/fn:v2"); err != nil || got != digest {
		t.Errorf("Digest() of the copy = %s, %v; want %s", got, err, digest)
	}
	s.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	if err := copyTo(s.host + "/other/fn:v1"); !errors.As(err, new(*registry.UnauthorizedError)) {
		t.Errorf("push to a registry that rejects it = %v, want an UnauthorizedError", err)
	}
}

// A push tries matching credentials in turn, like a pull, until one allows writing.
func TestPushWithSeveralCredentials(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		// entries are paths below the registry and their passwords.
		entries []string
		refused bool
	}{
		"first":    {entries: []string{"/team/fn good", " bad"}},
		"last":     {entries: []string{"/team/fn bad1", "/team bad2", " good"}},
		"none":     {entries: []string{"/team bad1", " bad2"}, refused: true},
		"too many": {entries: []string{"/team/fn bad1", "/team/ bad2", "/team bad3", "/ bad4", "/team/f good"}, refused: true},
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
			err := c.Push(t.Context(), g.ref("v2"), newImage(t, "", runs("/two")))
			if refused := errors.As(err, new(*registry.UnauthorizedError)); refused != tc.refused || !refused && err != nil {
				t.Errorf("Push() = %v", err)
			}
		})
	}
}
