// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package publish

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"helm.sh/helm/v3/pkg/registry"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"

	"github.com/krmfn/krmfn/tools/release/internal/chart"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

// chartName is the name of the chart. Its repository is below charts/, because the image of the command has the same name.
const chartName = "krmfn"

// packedChart is a chart to push.
type packedChart struct {
	tag  tag
	data []byte
	time time.Time // timestamp of its files
}

// openChart reads the chart of the release, and compares it with the registry. Images that the chart installs and that are not part of the
// release must exist in the registry.
func (o Options) openChart(ctx context.Context) (*packedChart, error) {
	to, err := o.tag("charts/"+chartName, strings.TrimPrefix(o.Versions.Chart, "v"))
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(o.Dir, chart.FileName(chartName, o.Versions)))
	if err != nil {
		return nil, fmt.Errorf("the chart is part of release %s: %w", o.Release.Tag, err)
	}
	at, err := timestamp(data)
	if err != nil {
		return nil, err
	}
	differing := o.Versions.Differing()
	for _, name := range slices.Sorted(maps.Keys(differing)) {
		installed, err := o.tag(name, differing[name])
		if err != nil {
			return nil, err
		}
		published, err := installed.digest(ctx)
		if err != nil {
			return nil, err
		}
		if published == "" {
			return nil, fmt.Errorf("the chart installs %s, which does not exist: release %s/%s first", installed, name, differing[name])
		}
	}
	return &packedChart{tag: to, data: data, time: at}, checkChart(ctx, to, data)
}

// timestamp returns the timestamp of a chart's files. It is the time of the commit.
func timestamp(data []byte) (time.Time, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return time.Time{}, fmt.Errorf("chart: %w", err)
	}
	header, err := tar.NewReader(z).Next()
	if err != nil {
		return time.Time{}, fmt.Errorf("chart: %w", err)
	}
	return header.ModTime.UTC(), nil
}

// checkChart returns an error if the registry has another package under the tag.
func checkChart(ctx context.Context, to tag, data []byte) error {
	desc, err := to.Resolve(ctx, to.name)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look up %s: %w", to, err)
	}
	published, err := content.Successors(ctx, to, desc)
	if err != nil {
		return fmt.Errorf("look up %s: %w", to, err)
	}
	want := digest.FromBytes(data)
	if !slices.ContainsFunc(published, func(d ocispec.Descriptor) bool { return d.Digest == want }) {
		return fmt.Errorf("%s is already published, with other content: give the chart a new version in %s", to, versions.File)
	}
	return nil
}

// pushChart pushes the chart and returns its reference with digest. It cannot be cancelled, because Helm's client takes no context.
func (o Options) pushChart(c *packedChart) (string, error) {
	var options []registry.ClientOption
	if o.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	client, err := registry.NewClient(options...)
	if err != nil {
		return "", fmt.Errorf("push %s: %w", c.tag, err)
	}
	// The manifest contains a time. With the time of the commit, equal charts have equal digests.
	result, err := client.Push(c.data, c.tag.String(), registry.PushOptCreationTime(c.time.Format(time.RFC3339)))
	if err != nil {
		return "", fmt.Errorf("push %s: %w", c.tag, err)
	}
	fmt.Fprintf(o.Log, "oci://%s --version %s: %s\n", c.tag.reference(""), c.tag.name, result.Manifest.Digest)
	return c.tag.reference(result.Manifest.Digest), nil
}
