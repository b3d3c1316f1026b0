// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/krmfn/krmfn/tools/release/internal/chart"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

var (
	at   = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	same = versions.Versions{Chart: "v1.2.3", Images: map[string]string{"function-runner": "v1.2.3"}}
)

func TestPackSetsVersionsOfRepositoryChart(t *testing.T) {
	t.Parallel()

	packed, err := chart.Pack("../../../../charts/krmfn", same, nil, at)
	if err != nil {
		t.Fatal(err)
	}
	if packed.Name != "krmfn-1.2.3.tgz" {
		t.Errorf("Name = %s, want krmfn-1.2.3.tgz", packed.Name)
	}
	c, err := loader.LoadArchive(bytes.NewReader(packed.Data))
	if err != nil {
		t.Fatal(err)
	}
	if c.Metadata.Version != "1.2.3" || c.Metadata.AppVersion != "v1.2.3" || len(c.Templates) == 0 || len(c.Schema) == 0 {
		t.Errorf("metadata = %+v, %d templates, %d bytes of schema, want version 1.2.3, templates and a schema", c.Metadata, len(c.Templates), len(c.Schema))
	}
}

func TestEqualChartsGiveEqualBytes(t *testing.T) {
	t.Parallel()

	dir := write(t, "image: {tags: {}}\n")
	first, err := chart.Pack(dir, same, nil, at)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(filepath.Join(dir, "values.yaml"), at, at); err != nil {
		t.Fatal(err)
	}
	second, err := chart.Pack(dir, same, nil, at)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Data, second.Data) {
		t.Error("packages of equal charts differ")
	}
	z, err := gzip.NewReader(bytes.NewReader(first.Data))
	if err != nil {
		t.Fatal(err)
	}
	header, err := tar.NewReader(z).Next()
	if err != nil {
		t.Fatal(err)
	}
	if header.Name != "krmfn/Chart.yaml" || !header.ModTime.Equal(at) {
		t.Errorf("first file = %s, time = %s, want krmfn/Chart.yaml and %s", header.Name, header.ModTime, at)
	}
}

func TestPackSetsTagsAndDigests(t *testing.T) {
	t.Parallel()

	v := versions.Versions{Chart: "v1.2.3", Images: map[string]string{"a": "v1.2.3", "b": "v1.2.4", "c": "v1.3.0"}}
	tests := map[string]struct {
		values    string
		digests   map[string]string
		want, err string
	}{
		"empty tags": {
			values: "image:\n  # Tags of single images.\n  tags: {} # none\n  registry: r\n",
			want:   "image:\n  # Tags of single images.\n  tags: {b: v1.2.4, c: v1.3.0} # none\n  registry: r\n",
		},
		"empty digests": {
			values:  "image:\n  tags: {}\n  digests: {}\n",
			digests: map[string]string{"a": "sha256:1", "b": "sha256:2"},
			want:    "image:\n  tags: {b: v1.2.4, c: v1.3.0}\n  digests: {a: v1.2.3@sha256:1, b: v1.2.4@sha256:2}\n",
		},
		"no digests":        {values: "image: {tags: {}}\n", digests: map[string]string{"a": "sha256:1"}, err: "no image.digests"},
		"no tags":           {values: "image: {tag: x}\n", err: "no image.tags"},
		"no image":          {values: "a: b\n", err: "no image.tags"},
		"tags that are set": {values: "image:\n  tags: {b: v1}\n", err: "line 2: image.tags is not {}"},
		"block of tags":     {values: "image:\n  tags:\n    b: v1\n", err: "image.tags is not {}"},
		"empty":             {values: "", err: "no image.tags"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			packed, err := chart.Pack(write(t, test.values), v, test.digests, at)
			if test.err != "" {
				if err == nil || !strings.Contains(err.Error(), test.err) {
					t.Errorf("Pack() error = %v, want %q", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			c, err := loader.LoadArchive(bytes.NewReader(packed.Data))
			if err != nil {
				t.Fatal(err)
			}
			for _, raw := range c.Raw {
				if raw.Name != "values.yaml" {
					continue
				}
				if diff := cmp.Diff(test.want, string(raw.Data)); diff != "" {
					t.Errorf("values (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestPackFailsWithoutAppVersion(t *testing.T) {
	t.Parallel()

	dir := write(t, "a: b\n")
	if err := os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte("apiVersion: v2\nname: krmfn\nversion: 0.0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := chart.Pack(dir, same, nil, at); err == nil || !strings.Contains(err.Error(), "0 lines begin with appVersion:") {
		t.Errorf("Pack() error = %v, want one about appVersion", err)
	}
}

// write creates a chart with the given values and returns its directory.
func write(t *testing.T, values string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{
		"Chart.yaml":  "apiVersion: v2\nname: krmfn\nversion: 0.0.1\nappVersion: dev\n",
		"values.yaml": values,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
