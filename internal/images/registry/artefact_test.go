// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/krmfn/krmfn/internal/images/registry"
)

// Image reads only manifests and configs, never layers.
func TestMediaTypes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ manifest, config, layer types.MediaType }{
		"oci":            {types.OCIManifestSchema1, types.OCIConfigJSON, types.OCILayer},
		"docker":         {types.DockerManifestSchema2, types.DockerConfigJSON, types.DockerLayer},
		"zstd":           {types.OCIManifestSchema1, types.OCIConfigJSON, types.OCILayerZStd},
		"foreign":        {types.DockerManifestSchema2, types.DockerConfigJSON, types.DockerForeignLayer},
		"mixed":          {types.DockerManifestSchema2, types.OCIConfigJSON, types.OCIUncompressedLayer},
		"odd layer":      {types.OCIManifestSchema1, types.OCIConfigJSON, "application/vnd.example.layer+encrypted"},
		"binary config":  {types.DockerManifestSchema2, "application/octet-stream", types.DockerLayer},
		"config as HTML": {types.DockerManifestSchema2, "text/html", types.DockerLayer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			image, err := mutate.AppendLayers(newImage(t, "linux/amd64", runs("/fn")), static.NewLayer([]byte("no layer at all"), tc.layer))
			if err != nil {
				t.Fatal(err)
			}
			image = mutate.ConfigMediaType(mutate.MediaType(image, tc.manifest), tc.config)
			pushed := s.push(t, "v1", image)
			got, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), pushed)
			want := registry.Image{Reference: s.ref("v1"), Digest: pushed, Command: []string{"/fn"}, Platforms: []string{"linux/amd64"}}
			if diff := cmp.Diff(want, got); diff != "" || err != nil {
				t.Errorf("Image() = %v (-want +got):\n%s", err, diff)
			}
			if asked := s.asked(); len(asked) != 3 {
				t.Errorf("requests = %q, want none for a layer", asked)
			}
		})
	}
}

// artefacts are OCI artefacts that are not images.
var artefacts = map[string]struct {
	artifactType string
	config       types.MediaType
	want         string
}{
	"chart":     {config: "application/vnd.cncf.helm.config.v1+json", want: "application/vnd.cncf.helm.config.v1+json"},
	"wasm":      {config: "application/vnd.wasm.config.v0+json", want: "application/vnd.wasm.config.v0+json"},
	"empty":     {config: types.OCIEmptyJSON, want: "application/vnd.oci.empty.v1+json"},
	"typed":     {artifactType: "application/vnd.example.sbom", config: types.OCIEmptyJSON, want: "application/vnd.example.sbom"},
	"long type": {config: types.MediaType("application/" + strings.Repeat("x", 2000)), want: "application/xxx"},
}

// manifestOf returns a manifest of an artefact with the config {}.
func manifestOf(artifactType string, config types.MediaType) rawManifest {
	return rawManifest{fmt.Sprintf(`{"schemaVersion":2,"mediaType":%q,"artifactType":%q,"config":{"mediaType":%q,"size":2,"digest":%q},"layers":[]}`,
		types.OCIManifestSchema1, artifactType, config, sum([]byte("{}"))), types.OCIManifestSchema1}
}

func TestArtefacts(t *testing.T) {
	t.Parallel()
	for name, tc := range artefacts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			pushed := s.push(t, "v1", manifestOf(tc.artifactType, tc.config))
			_, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), pushed)
			want := "image " + pushed + " cannot be run: it is not an image but " + tc.want
			if kind(err) != "unusable" || !strings.HasPrefix(err.Error(), want) || len(err.Error()) > 600 {
				t.Errorf("Image() = %v, want %q", err, want)
			}
			if asked := s.asked(); len(asked) != 2 {
				t.Errorf("requests = %q, want none for a config", asked)
			}
		})
	}
}

// Artefacts in an index are ignored, whether or not the index names their types.
func TestArtefactsInAnIndex(t *testing.T) {
	t.Parallel()
	for name, tc := range artefacts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			raw := manifestOf(tc.artifactType, tc.config)
			s.push(t, "artefact", raw)
			image := newImage(t, "linux/amd64", runs("/fn"))
			s.push(t, "image", image)
			digest, err := image.Digest()
			if err != nil {
				t.Fatal(err)
			}
			for _, said := range []string{"", tc.want} {
				index := fmt.Sprintf(`{"schemaVersion":2,"manifests":[{"mediaType":%[1]q,"digest":%[2]q,"size":%[3]d,"artifactType":%[4]q},
					{"mediaType":%[1]q,"digest":%[5]q,"size":1}]}`, types.OCIManifestSchema1, sum([]byte(raw.body)), len(raw.body), said, digest)
				pushed := s.push(t, "v1", rawManifest{index, types.OCIImageIndex})
				got, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), pushed)
				want := registry.Image{Reference: s.ref("v1"), Digest: pushed, Command: []string{"/fn"}, Platforms: []string{"linux/amd64"}}
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("Image() with type %q in the index = %v (-want +got):\n%s", said, err, diff)
				}
			}
		})
	}
	s := newServer(t)
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: mutate.ConfigMediaType(empty.Image, "application/vnd.x")})
	_, err := s.client(registry.Options{}).Image(t.Context(), s.ref("v1"), s.push(t, "v1", index))
	if kind(err) != "unusable" || !strings.Contains(err.Error(), "it has no image") {
		t.Errorf("Image() = %v", err)
	}
}
