// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/images/metadata"
	"github.com/krmfn/krmfn/services/images/policy"
	"github.com/krmfn/krmfn/services/images/registry"
)

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// New fails if the policy is missing or invalid, because a runner without the policy would go unnoticed.
func TestPolicyMustBeThere(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]string{"missing": "/does/not/exist.yaml", "wrong": file(t, "allowed: []")} {
		c := newConfig(t, wrapperImageVariable+"=wrapper")
		c.Options.Pod.Kubeconfig, c.Options.Images.Policy = cluster(t), policy
		if _, err := New(t.Context(), c); err == nil || !strings.Contains(err.Error(), policy) {
			t.Errorf("%s: New() = %v, want an error that names %s", name, err, policy)
		}
	}
}

// Calls use the rewritten reference, the policy applies to it, and known images need no registry.
func TestImagesOfCalls(t *testing.T) {
	t.Parallel()
	c := newConfig(t, wrapperImageVariable+"=wrapper")
	c.Options.Pod.Kubeconfig = cluster(t)
	known := registry.Image{Reference: "mirror.invalid/a/fn:v1", Digest: "sha256:" + strings.Repeat("a", 64), Command: []string{"/fn"}}
	text, err := metadata.Format([]registry.Image{known})
	if err != nil {
		t.Fatal(err)
	}
	c.Options.Images.Warmed, c.Options.Images.Kept = file(t, string(text)), filepath.Join(t.TempDir(), "kept.yaml")
	c.Options.Images.Policy = file(t, "apiVersion: krmfn.dev/v1alpha1\nkind: ImagePolicy\nallow: [{prefix: mirror.invalid}]\n")
	if err := c.Options.Images.Rewrites.Set("r.io/x=mirror.invalid/a"); err != nil {
		t.Fatal(err)
	}
	p, err := New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- p.Run(ctx, func() { close(ready) }) }()
	<-ready
	var refused *policy.RefusedError
	if _, err := p.Evaluate(ctx, evaluation.Request{Image: "r.io/y/fn:v1"}); !errors.As(err, &refused) || refused.Image != "r.io/y/fn:v1" {
		t.Errorf("Evaluate() of an image that the policy does not permit = %v, want a RefusedError", err)
	}
	if digest, err := p.resolver.Resolve(ctx, "mirror.invalid/a/fn:v1"); digest != known.Digest || err != nil {
		t.Errorf("Resolve() = %q, %v, want %q", digest, err, known.Digest)
	}
	if reference, err := c.Options.Reference("r.io/x/fn:v1"); reference != known.Reference || err != nil {
		t.Errorf("Reference() = %q, %v, want %q", reference, err, known.Reference)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
