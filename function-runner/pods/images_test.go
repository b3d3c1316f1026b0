// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package pods

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/krmfn/krmfn/function-runner/options"
	"github.com/krmfn/krmfn/internal/images/metadata"
	"github.com/krmfn/krmfn/internal/images/policy"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/services/evaluation"
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

// Nodes that resolve tags would run images that the policy has not seen. A policy that judges digests is refused at the start, and when it
// is reloaded, the previous policy stays in effect.
func TestPolicyNeedsImagesByDigest(t *testing.T) {
	t.Parallel()
	const head = "apiVersion: krmfn.dev/v1alpha1\nkind: ImagePolicy\n"
	rules := map[string]string{
		"digest":     "allow: [{repository: r.io/fn, digest: sha256:" + strings.Repeat("a", 64) + "}]\n",
		"signatures": "signatures: [{keys: [{data: \"" + strings.ReplaceAll(publicKey(t), "\n", "\\n") + "\"}]}]\n",
	}
	for name, rule := range rules {
		c := newConfig(t, wrapperImageVariable+"=wrapper")
		c.Options.Pod.Kubeconfig, c.Options.Pod.ImageForm = cluster(t), options.ImageFormReference
		c.Options.Images.Policy = file(t, head+rule)
		if _, err := New(t.Context(), c); err == nil || !strings.Contains(err.Error(), c.Options.Images.Policy+": --pod-image-form=reference") {
			t.Errorf("%s: New() = %v, want an error that names --pod-image-form=reference and the policy", name, err)
		}
		for form, refused := range map[string]bool{options.ImageFormDigest: false, options.ImageFormReference: true} {
			c.Options.Pod.ImageForm = form
			name, policyFile := form+", "+name, file(t, head+"allow: [{prefix: r.io}]\n")
			store, err := policy.NewStore(policyFile, (&Pods{config: c}).checkPolicy, c.Log)
			if err != nil {
				t.Fatalf("%s: NewStore() of a policy without digests = %v, want nil", name, err)
			}
			before := store.Policy()
			if err := os.WriteFile(policyFile, []byte(head+rule), 0o600); err != nil {
				t.Fatal(err)
			}
			if changed, err := store.Load(); changed == refused || (err != nil) != refused || refused && store.Policy() != before {
				t.Errorf("%s: Load() = %v, %v, want refused = %v", name, changed, err, refused)
			}
		}
	}
}

// publicKey returns a public key in PEM.
func publicKey(t *testing.T) string {
	t.Helper()
	public, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
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
