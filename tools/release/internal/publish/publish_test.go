// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	helm "helm.sh/helm/v3/pkg/registry"

	"github.com/krmfn/krmfn/tools/release/internal/publish"
	"github.com/krmfn/krmfn/tools/release/internal/release"
)

const billOfMaterials = `{"spdxVersion": "SPDX-2.3"}`

func TestPublishedReleaseCanBePulled(t *testing.T) {
	t.Parallel()

	f := newFixture(t, map[string]string{"one": "v1.2.3", "two": "v1.2.3"})
	digests := f.images(t, "one", "two")
	pushed := f.publish(t, "")
	var want []string
	for _, image := range []string{"one", "two"} {
		want = append(want, f.registry+"/krmfn/"+image+"@"+digests[image].String(), f.checkImage(t, image, "v1.2.3", digests[image]))
	}
	client, err := helm.NewClient(helm.ClientOptPlainHTTP())
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := client.Pull(f.registry + "/krmfn/charts/krmfn:1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	packed, err := os.ReadFile(filepath.Join(f.dir, "krmfn-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(pulled.Chart.Data, packed) {
		t.Error("the pulled chart differs from the chart of the release")
	}
	want = append(want, f.registry+"/krmfn/charts/krmfn@"+pulled.Manifest.Digest)
	if diff := cmp.Diff(want, pushed); diff != "" {
		t.Errorf("pushed (-want +got):\n%s", diff)
	}
}

func TestPublishIsIdempotent(t *testing.T) {
	t.Parallel()

	f := newFixture(t, map[string]string{"one": "v1.2.3"})
	f.images(t, "one")
	if diff := cmp.Diff(f.publish(t, ""), f.publish(t, "")); diff != "" {
		t.Errorf("pushed (-first +second):\n%s", diff)
	}
}

func TestPublishSingleImage(t *testing.T) {
	t.Parallel()

	f := newFixture(t, map[string]string{"one": "v1.2.4", "two": "v1.2.3"})
	digests := f.images(t, "one")
	pushed := f.publish(t, "one/v1.2.4")
	want := []string{f.registry + "/krmfn/one@" + digests["one"].String(), f.checkImage(t, "one", "v1.2.4", digests["one"])}
	if diff := cmp.Diff(want, pushed); diff != "" {
		t.Errorf("pushed (-want +got):\n%s", diff)
	}
}

func TestPublishErrors(t *testing.T) {
	t.Parallel()

	tests := map[string]struct {
		prepare func(*testing.T, *fixture)
		want    string
	}{
		"other content under the same tag": {func(t *testing.T, f *fixture) {
			f.publish(t, "")
			f.images(t, "one", "two")
		}, "is already published, as sha256:"},
		"other chart of the same version": {func(t *testing.T, f *fixture) {
			f.publish(t, "")
			f.time = f.time.Add(time.Second)
			f.chart(t)
			f.checksums(t)
		}, "charts/krmfn:1.2.3 is already published, with other content"},
		"image is missing": {func(t *testing.T, f *fixture) {
			f.remove(t, "two-v1.2.3.oci.tar")
			f.checksums(t)
		}, "image two is part of release v1.2.3"},
		"image is broken": {func(t *testing.T, f *fixture) {
			f.write(t, "two-v1.2.3.oci.tar", "broken")
			f.checksums(t)
		}, "image two is part of release v1.2.3"},
		"chart is missing": {func(t *testing.T, f *fixture) {
			f.remove(t, "krmfn-1.2.3.tgz")
			f.checksums(t)
		}, "the chart is part of release v1.2.3"},
		"no checksums": {func(t *testing.T, f *fixture) { f.remove(t, release.ChecksumsFile) }, "make release-dry-run"},
		"changed file": {func(t *testing.T, f *fixture) { f.write(t, "krmfn-1.2.3.tgz", "other") }, "build the release again"},
		"another file": {func(t *testing.T, f *fixture) { f.write(t, "other", "") }, "other is not in checksums.txt"},
		"image of another version is not released": {func(_ *testing.T, f *fixture) {
			f.versions.Images["two"] = "v1.0.0"
		}, "two:v1.0.0, which does not exist: release two/v1.0.0 first"},
		"uncommitted changes": {func(t *testing.T, f *fixture) {
			f.revision = "4b825dc-dirty"
			f.images(t, "one", "two")
		}, "built with uncommitted changes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := newFixture(t, map[string]string{"one": "v1.2.3", "two": "v1.2.3"})
			f.images(t, "one", "two")
			test.prepare(t, f)
			pushed, err := publish.Publish(t.Context(), f.options(t, ""))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Publish() = %v, %v, want an error with %q", pushed, err, test.want)
			}
		})
	}
}
