// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Attached is a signature or an attestation that a registry stores with an image. It has not been verified.
type Attached struct {
	// MediaType is the type of Content: MediaTypeSimpleSigning, MediaTypeEnvelope, or a Sigstore bundle (see IsBundle).
	MediaType string
	Content   []byte
	// Annotations are the annotations of the layer. cosign stores the signature and certificates there.
	Annotations map[string]string
}

// Media types that cosign stores under tags.
const (
	MediaTypeSimpleSigning = "application/vnd.dev.cosign.simplesigning.v1+json"
	MediaTypeEnvelope      = "application/vnd.dsse.envelope.v1+json"
	bundlePrefix           = "application/vnd.dev.sigstore.bundle"
)

// IsBundle reports whether a media type belongs to a Sigstore bundle, of any version.
func IsBundle(mediaType string) bool { return strings.HasPrefix(mediaType, bundlePrefix) }

const (
	// maxAttached is the maximum number of signatures and attestations per image. More are ignored.
	maxAttached = 128
	// maxAttachedSize is the maximum size of one response, in bytes. Attestations can contain a bill of materials.
	maxAttachedSize = 4 << 20
	// maxAttachedBytes is the maximum size of all of them, in bytes.
	maxAttachedBytes = 32 << 20
)

// Attached returns the signatures and attestations of the manifest or index with the given digest in the repository of ref. It reads
// cosign's tags (sha256-….sig, sha256-….att), and Sigstore bundles that refer to the image (OCI 1.1 referrers, or the fallback tag if
// the registry does not support these). It returns at most 128.
//
// Errors are *UnauthorizedError, *ThrottledError, the context's cause, and others, which may be temporary.
func (c *Client) Attached(ctx context.Context, ref, digest string) ([]Attached, error) {
	parsed, err := parse(ref)
	if err != nil {
		return nil, err
	}
	hash, err := v1.NewHash(digest)
	if err != nil {
		return nil, fmt.Errorf("digest %q of function image %q is invalid: %w", digest, ref, err)
	}
	var found []Attached
	err = c.ask(withLimit(ctx, maxAttachedSize), parsed.Context(), func(ctx context.Context, p *remote.Puller) error {
		r := &attachedReader{puller: p, repository: parsed.Context()}
		for _, suffix := range []string{"sig", "att"} {
			tag := parsed.Context().Tag(fmt.Sprintf("%s-%s.%s", hash.Algorithm, hash.Hex, suffix))
			if err := r.manifest(ctx, tag); err != nil {
				return err
			}
		}
		if err := r.referrers(ctx, parsed.Context().Digest(digest)); err != nil {
			return err
		}
		found = r.found
		return nil
	})
	return found, err
}

// attachedReader collects the signatures and attestations of one image.
type attachedReader struct {
	puller     *remote.Puller
	repository name.Repository
	found      []Attached
	bytes      int
}

// manifest reads the layers of a manifest, which may not exist.
func (r *attachedReader) manifest(ctx context.Context, ref name.Reference) error {
	descriptor, err := r.puller.Get(ctx, ref)
	if answer, ok := errors.AsType[*transport.Error](err); ok && notFound(answer) {
		return nil
	}
	if err != nil {
		return err
	}
	if descriptor.MediaType != types.OCIManifestSchema1 && descriptor.MediaType != types.DockerManifestSchema2 {
		return nil
	}
	manifest, err := v1.ParseManifest(strings.NewReader(string(descriptor.Manifest)))
	if err != nil {
		return fmt.Errorf("read %s: %w", ref, err)
	}
	for _, layer := range manifest.Layers {
		mediaType := string(layer.MediaType)
		if mediaType != MediaTypeSimpleSigning && mediaType != MediaTypeEnvelope && !IsBundle(mediaType) {
			continue
		}
		if len(r.found) == maxAttached || r.bytes >= maxAttachedBytes {
			return nil
		}
		content, err := r.blob(ctx, layer.Digest)
		if err != nil {
			return err
		}
		r.found = append(r.found, Attached{MediaType: mediaType, Content: content, Annotations: layer.Annotations})
		r.bytes += len(content)
	}
	return nil
}

func (r *attachedReader) blob(ctx context.Context, hash v1.Hash) ([]byte, error) {
	layer, err := r.puller.Layer(ctx, r.repository.Digest(hash.String()))
	if err != nil {
		return nil, err
	}
	body, err := layer.Compressed()
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(body)
	return content, errors.Join(err, body.Close())
}

// referrers reads the bundles that refer to an image.
func (r *attachedReader) referrers(ctx context.Context, image name.Digest) error {
	index, err := remote.Referrers(image, remote.Reuse(r.puller), remote.WithContext(ctx))
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return fmt.Errorf("read the referrers of %s: %w", image, err)
	}
	for _, d := range manifest.Manifests {
		// Some registries omit the artefact type, or return the type of the config, which is empty.
		if d.ArtifactType != "" && d.ArtifactType != string(types.OCIEmptyJSON) && !IsBundle(d.ArtifactType) {
			continue
		}
		if len(r.found) == maxAttached || r.bytes >= maxAttachedBytes {
			return nil
		}
		if err := r.manifest(ctx, r.repository.Digest(d.Digest.String())); err != nil {
			return err
		}
	}
	return nil
}
