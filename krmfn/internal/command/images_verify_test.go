// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/providers/signatures/signaturetest"
	"github.com/krmfn/krmfn/krmfn/internal/command/failure"
)

// sign signs an image in a registry, and returns the file of the public key.
func sign(t *testing.T, repository, digest string) (key string) {
	t.Helper()
	signer, err := signaturetest.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	image, err := name.NewDigest(repository + "@" + digest)
	if err != nil {
		t.Fatal(err)
	}
	signature, err := signer.Simple(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := signaturetest.Tag(image, []registry.Attached{signature}); err != nil {
		t.Fatal(err)
	}
	text, err := signer.PublicKey()
	if err != nil {
		t.Fatal(err)
	}
	return newFile(t, string(text))
}

func newFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestImagesVerify(t *testing.T) {
	t.Parallel()
	host, _ := newRegistry(t)
	target, _ := newRegistry(t)
	labels := push(t, host+"/fn/set-labels:v0.2.3")
	push(t, host+"/fn/own:v1")
	key := sign(t, host+"/fn/set-labels", labels)
	dir := imagesPackage(t, host)
	args := []string{"images", dir, "--default-image-prefix", host + "/fn", "--verify"}

	got := krmfn(t, append(args, "--key", key)...)
	if got.code != failure.Failed {
		t.Errorf("exit code %d", got.code)
	}
	contains(t, columns.ReplaceAllString(got.out, "$1   "), "SIGNATURE   USED BY\n", "   verified   .\n", "   failed   db, . (2)\n")
	contains(t, got.err, "[WARN] "+host+"/fn/own:v1: image \""+host+"/fn/own@sha256:", "--verify wants a signature by key "+key+", but none was found",
		"error: 1 of 2 images were not verified: have them signed, or do not use them\n")

	policy := newFile(t, "apiVersion: krmfn.dev/v1alpha1\nkind: ImagePolicy\nsignatures: [{repository: "+host+"/fn/set-labels, keys: [{file: "+key+"}]}]\n")
	got = krmfn(t, append(args, "--image-policy", policy, "-o=json")...).ok(t)
	var doc struct {
		Images []struct{ Image, Signature, Problem string }
	}
	if err := json.Unmarshal([]byte(got.out), &doc); err != nil || len(doc.Images) != 2 {
		t.Fatalf("%v: %s", err, got.out)
	}
	if doc.Images[0].Signature != "not required" || doc.Images[1].Signature != "verified" {
		t.Errorf("got %+v", doc.Images)
	}

	got = krmfn(t, append(args, "--key", key, "--copy-to", target)...)
	contains(t, columns.ReplaceAllString(got.out, "$1   "), "   copied\n", "   failed\n")
	if got.code != failure.Failed || strings.Count(got.out, "   copied\n") > 1 {
		t.Errorf("exit code %d: %s", got.code, got.out)
	}
}

func TestImagesVerifyUsage(t *testing.T) {
	t.Parallel()
	dir, key := newPackage(t, nil), newFile(t, "no key")
	for want, args := range map[string][]string{
		"--verify needs to know who may sign":            {"--verify"},
		"say what --verify verifies: add --verify":       {"--key=" + key},
		"has no public key in PEM":                       {"--verify", "--key=" + key},
		"--key: open /none":                              {"--verify", "--key=/none"},
		"--image-policy already says who may sign":       {"--verify", "--key=" + key, "--image-policy=" + key},
		"image policy: ":                                 {"--verify", "--image-policy=" + key},
		"give all three":                                 {"--verify", "--certificate-identity=me"},
		"the trusted root cannot be read":                {"--verify", "--certificate-identity=me", "--certificate-oidc-issuer=i", "--trusted-root=" + key},
		"the regular expression \"(\" for the subject":   {"--verify", "--certificate-identity-regexp=(", "--certificate-oidc-issuer=i", "--trusted-root=" + key},
		"--verify needs registries: leave out --offline": {"--verify", "--offline", "--key=" + key},
	} {
		got := krmfn(t, append([]string{"images", dir}, args...)...)
		if got.code != failure.Failed || got.out != "" || strings.Count(got.err, "\n") != 1 {
			t.Errorf("%v: got exit code %d, %q and %q", args, got.code, got.out, got.err)
		}
		contains(t, got.err, want)
	}
}
