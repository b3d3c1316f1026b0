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

// chartName is that of the chart. Its repository is below charts/, as the image of the command has the same name.
const chartName = "krmfn"

// packedChart is a chart to push.
type packedChart struct {
	tag  tag
	data []byte
	made time.Time
}

// openChart reads the chart of the release, compares it with what the registry has, and looks there for the images that it
// installs and that are no part of the release.
func (o Options) openChart(ctx context.Context) (*packedChart, error) {
	to, err := o.tag("charts/"+chartName, strings.TrimPrefix(o.Versions.Chart, "v"))
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(filepath.Join(o.Dir, chart.FileName(chartName, o.Versions)))
	if err != nil {
		return nil, fmt.Errorf("the chart is part of release %s: %w", o.Release.Tag, err)
	}
	made, err := packedAt(data)
	if err != nil {
		return nil, err
	}
	differing := o.Versions.Differing()
	for _, name := range slices.Sorted(maps.Keys(differing)) {
		installed, err := o.tag(name, differing[name])
		if err != nil {
			return nil, err
		}
		there, err := installed.digest(ctx)
		if err != nil {
			return nil, err
		}
		if there == "" {
			return nil, fmt.Errorf("%s is not there, and the chart installs it: release %s/%s first", installed, name, differing[name])
		}
	}
	return &packedChart{tag: to, data: data, made: made}, checkChart(ctx, to, data)
}

// packedAt is the time of a chart's files, which is that of the commit.
func packedAt(data []byte) (time.Time, error) {
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

// checkChart refuses a tag that the registry has for another package.
func checkChart(ctx context.Context, to tag, data []byte) error {
	desc, err := to.Resolve(ctx, to.name)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for %s: %w", to, err)
	}
	there, err := content.Successors(ctx, to, desc)
	if err != nil {
		return fmt.Errorf("look for %s: %w", to, err)
	}
	want := digest.FromBytes(data)
	if !slices.ContainsFunc(there, func(d ocispec.Descriptor) bool { return d.Digest == want }) {
		return fmt.Errorf("%s is there already, with other content: give the chart another version in %s", to, versions.File)
	}
	return nil
}

// pushChart pushes the chart and returns its reference with its digest. Helm gives no way to break it off.
func (o Options) pushChart(c *packedChart) (string, error) {
	var options []registry.ClientOption
	if o.PlainHTTP {
		options = append(options, registry.ClientOptPlainHTTP())
	}
	client, err := registry.NewClient(options...)
	if err != nil {
		return "", fmt.Errorf("push %s: %w", c.tag, err)
	}
	// The manifest tells a time: that of the commit, so that the same chart has the same digest everywhere.
	result, err := client.Push(c.data, c.tag.String(), registry.PushOptCreationTime(c.made.Format(time.RFC3339)))
	if err != nil {
		return "", fmt.Errorf("push %s: %w", c.tag, err)
	}
	fmt.Fprintf(o.Log, "oci://%s --version %s: %s\n", c.tag.reference(""), c.tag.name, result.Manifest.Digest)
	return c.tag.reference(result.Manifest.Digest), nil
}
