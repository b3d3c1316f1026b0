// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/krmfn/krmfn/services/images/registry"
)

// What is pulled is pushed with its tag, also where the reference has a digest, and a refusal is explained.
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
		t.Errorf("the copy is %s, %v, want %s", got, err, digest)
	}
	s.answer(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			return false
		}
		w.WriteHeader(http.StatusForbidden)
		return true
	})
	if err := copyTo(s.host + "/other/fn:v1"); !errors.As(err, new(*registry.UnauthorizedError)) {
		t.Errorf("a registry that refuses: %v", err)
	}
}
