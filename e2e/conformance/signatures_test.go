// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"context"
	"fmt"
	"io"
	"log" //nolint:depguard // the registry's library logs with it
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	ociregistry "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/krmfn/krmfn/e2e/programs/server"
	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/providers/signatures/signaturetest"
	"github.com/krmfn/krmfn/internal/server/certificates/certificatestest"
	"github.com/krmfn/krmfn/proto/gen/go/grpc/go/evaluator/evaluatorgrpc"
)

// If the image policy requires signatures, the function runner creates pods of the digests that the key has signed, and of no other images.
//
//nolint:paralleltest // the calls share the record of pods
func TestSignaturesAreRequired(t *testing.T) {
	t.Parallel()
	signer, stranger := newSigner(t), newSigner(t)
	r := newSigned(t, signer)
	defer stop(t, r.runner)
	refused := map[string]bool{}
	for title, tc := range map[string]struct {
		sign func(t *testing.T, image, other name.Digest)
		want string
	}{
		"unsigned":             {func(*testing.T, name.Digest, name.Digest) {}, "none was found"},
		"signed":               {func(t *testing.T, image, _ name.Digest) { tag(t, image, signer.Simple, image) }, ""},
		"signed, as a bundle":  {func(t *testing.T, image, _ name.Digest) { refer(t, image, signer, image) }, ""},
		"another key":          {func(t *testing.T, image, _ name.Digest) { tag(t, image, stranger.Simple, image) }, "another key signed it"},
		"another digest":       {func(t *testing.T, image, other name.Digest) { tag(t, image, signer.Simple, other) }, "it is about another image"},
		"bundle, other digest": {func(t *testing.T, image, other name.Digest) { refer(t, image, signer, other) }, "it is about another image"},
	} {
		t.Run(title, func(t *testing.T) {
			repository := r.host + "/team/" + strings.NewReplacer(" ", "-", ",", "").Replace(title)
			image, other := push(t, repository+":v1"), push(t, repository+":other")
			tc.sign(t, image, other)
			refused[image.String()] = tc.want != ""
			for _, reference := range []string{repository + ":v1", image.String()} {
				created, err := r.evaluate(t, reference)
				switch {
				case tc.want == "" && created != image.String():
					t.Errorf("%s: pod = %q, error = %v, want a pod of %s", reference, created, err, image)
				case tc.want != "" && (status.Code(err) != codes.PermissionDenied || !strings.Contains(err.Error(), tc.want)):
					t.Errorf("%s: pod = %q, error = %v, want PermissionDenied with %q", reference, created, err, tc.want)
				}
			}
		})
	}
	t.Run("tag moved to an unsigned image", func(t *testing.T) {
		tagged := r.host + "/team/moved:v1"
		signed := push(t, tagged)
		tag(t, signed, signer.Simple, signed)
		if created, err := r.evaluate(t, tagged); created != signed.String() {
			t.Fatalf("pod = %q, error = %v, want a pod of %s", created, err, signed)
		}
		unsigned := push(t, tagged)
		refused[unsigned.String()] = true
		eventually(t, "the new image is rejected", func() bool {
			created, err := r.evaluate(t, tagged)
			return created == "" && status.Code(err) == codes.PermissionDenied && strings.Contains(err.Error(), unsigned.DigestStr())
		})
	})
	if slices.ContainsFunc(r.images(), func(image string) bool { return refused[image] }) {
		t.Errorf("pods were created of %q, want none of %v", r.seen, refused)
	}
}

// signed is a function runner with a policy that requires signatures, and a registry.
type signed struct {
	runner *server.Process
	host   string
	api    *apiServer
	client evaluatorgrpc.FunctionEvaluatorClient
	// seen holds the images of pods that were received from the API server.
	seen []string
}

func newSigned(t *testing.T, signer *signaturetest.Signer) *signed {
	t.Helper()
	images := httptest.NewServer(ociregistry.New(ociregistry.Logger(log.New(io.Discard, "", 0)), ociregistry.WithReferrersSupport(true)))
	t.Cleanup(images.Close)
	s := &signed{host: strings.TrimPrefix(images.URL, "http://"), api: newAPIServer(t)}
	key, err := signer.PublicKey()
	check(t, err)
	dir := t.TempDir()
	certificatestest.Write(t, dir, "team.pub", key)
	policy := certificatestest.Write(t, dir, "policy.yaml", fmt.Appendf(nil,
		"apiVersion: krmfn.dev/v1alpha1\nkind: ImagePolicy\nsignatures: [{prefix: %s/team, keys: [{file: team.pub}]}]\n", s.host))
	// The TTL of tags is short, so that a tag that moves is noticed soon.
	runner, client := startRunnerWith(t, []string{"WRAPPER_SERVER_IMAGE=example.org/wrapper:v1"}, "--disable-runtimes=exec", "--image-policy="+policy,
		"--image-ttl=100ms", "--kubeconfig="+s.api.kubeconfig(t), "--pod-cache-config=")
	s.runner, s.client = runner, client
	return s
}

// evaluate calls a function, and returns the image of the pod that the function runner creates for it, or the error of the call. The
// function runner tries again to create pods of earlier calls, which are skipped.
func (s *signed) evaluate(t *testing.T, image string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		_, err := call(ctx, s.client, image, configMaps(1))
		failed <- err
	}()
	repository, _, _ := strings.Cut(strings.TrimPrefix(image, s.host), ":")
	repository, _, _ = strings.Cut(repository, "@")
	for {
		select {
		case created := <-s.api.created:
			s.seen = append(s.seen, created)
			if strings.HasPrefix(created, s.host+repository+"@") {
				return created, nil
			}
		case err := <-failed:
			return "", err
		}
	}
}

// images returns the images of all pods that the function runner has created.
func (s *signed) images() []string {
	for len(s.api.created) > 0 {
		s.seen = append(s.seen, <-s.api.created)
	}
	return s.seen
}

func newSigner(t *testing.T) *signaturetest.Signer {
	t.Helper()
	s, err := signaturetest.NewSigner()
	check(t, err)
	return s
}

// push pushes a new image with an entrypoint.
func push(t *testing.T, tagged string) name.Digest {
	t.Helper()
	image, err := random.Image(64, 1)
	check(t, err)
	image, err = mutate.Config(image, v1.Config{Entrypoint: []string{"/function"}})
	check(t, err)
	reference, err := name.NewTag(tagged)
	check(t, err)
	check(t, remote.Write(reference, image))
	digest, err := image.Digest()
	check(t, err)
	return reference.Context().Digest(digest.String())
}

// tag stores a signature of the image about under cosign's tag for an image.
func tag(t *testing.T, image name.Digest, sign func(name.Digest) (registry.Attached, error), about name.Digest) {
	t.Helper()
	attached, err := sign(about)
	check(t, err)
	check(t, signaturetest.Tag(image, []registry.Attached{attached}))
}

// refer stores a bundle with a signature of the image about, which refers to an image.
func refer(t *testing.T, image name.Digest, signer *signaturetest.Signer, about name.Digest) {
	t.Helper()
	bundle, err := signer.Bundle(about, signaturetest.PredicateSign)
	check(t, err)
	check(t, signaturetest.Refer(image, bundle))
}
