// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"

	"github.com/krmfn/krmfn/internal/images/registry"
	"github.com/krmfn/krmfn/internal/traits"
)

// An image has the traits that its labels declare. An index has those that all of its linux images declare.
func TestTraits(t *testing.T) {
	t.Parallel()
	worker, both := map[string]string{traits.WorkerLabel: "true"}, map[string]string{traits.WorkerLabel: "true", traits.DeterministicLabel: "true"}
	for name, tc := range map[string]struct {
		platforms []string
		labels    []map[string]string
		want      traits.Traits
	}{
		"no trait":                {platforms: []string{"linux/amd64"}, labels: []map[string]string{{"worker": "true"}}},
		"image":                   {platforms: []string{"linux/amd64"}, labels: []map[string]string{both}, want: traits.Traits{Worker: true, Deterministic: true}},
		"invalid value":           {platforms: []string{"linux/amd64"}, labels: []map[string]string{{traits.WorkerLabel: "yes", traits.StandbyLabel: "false"}}, want: traits.Traits{NoStandby: true}},
		"all images of an index":  {platforms: []string{"linux/amd64", "linux/arm64"}, labels: []map[string]string{both, both}, want: traits.Traits{Worker: true, Deterministic: true}},
		"some images of an index": {platforms: []string{"linux/amd64", "linux/arm64"}, labels: []map[string]string{both, worker}, want: traits.Traits{Worker: true}},
		"not the selected image":  {platforms: []string{"linux/arm64", "linux/amd64"}, labels: []map[string]string{worker, {}}},
		"no standby in one":       {platforms: []string{"linux/amd64", "linux/arm64"}, labels: []map[string]string{{}, {traits.StandbyLabel: "false"}}, want: traits.Traits{NoStandby: true}},
		"another system":          {platforms: []string{"linux/amd64", "windows/amd64"}, labels: []map[string]string{worker, {}}, want: traits.Traits{Worker: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			var pushed partial.WithRawManifest
			index := v1.ImageIndex(empty.Index)
			for i, platform := range tc.platforms {
				config := runs("/fn")
				config.Labels = tc.labels[i]
				image := newImage(t, platform, config)
				parsed, err := v1.ParsePlatform(platform)
				if err != nil {
					t.Fatal(err)
				}
				index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: parsed}})
				pushed = image
			}
			if len(tc.platforms) > 1 {
				pushed = index
			}
			digest := s.push(t, "v1", pushed)
			got, err := s.client(registry.Options{Architecture: "amd64"}).Image(t.Context(), s.ref("v1"), digest)
			if err != nil || got.Traits != tc.want {
				t.Errorf("Traits = %+v (error %v), want %+v", got.Traits, err, tc.want)
			}
		})
	}
}
