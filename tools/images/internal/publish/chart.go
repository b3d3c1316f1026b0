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
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"helm.sh/helm/v3/pkg/registry"

	"github.com/krmfn/krmfn/tools/images/internal/chart"
	"github.com/krmfn/krmfn/tools/images/internal/versions"
)

// chartName is that of the chart. Its repository is below charts/, as the image of the command has the same name.
const chartName = "krmfn"

// packedChart is a chart to push.
type packedChart struct {
	tag  name.Tag
	data []byte
	made time.Time
}

// openChart reads the chart of the release, compares it with what the registry has, and looks there for the images that it
// installs and that are no part of the release.
func (o Options) openChart(ctx context.Context) (*packedChart, error) {
	tag, err := o.reference("charts/"+chartName, strings.TrimPrefix(o.Versions.Chart, "v"))
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
	for _, image := range slices.Sorted(maps.Keys(differing)) {
		ref, err := o.reference(image, differing[image])
		if err != nil {
			return nil, err
		}
		there, err := o.digest(ctx, ref)
		if err != nil {
			return nil, err
		}
		if there == (v1.Hash{}) {
			return nil, fmt.Errorf("%s is not there, and the chart installs it: release %s/%s first", ref, image, differing[image])
		}
	}
	return &packedChart{tag: tag, data: data, made: made}, o.checkChart(ctx, tag, data)
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
func (o Options) checkChart(ctx context.Context, tag name.Tag, data []byte) error {
	there, err := remote.Get(tag, remoteOptions(ctx)...)
	var answer *transport.Error
	if errors.As(err, &answer) && answer.StatusCode == http.StatusNotFound {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for %s: %w", tag, err)
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(there.Manifest))
	if err != nil {
		return fmt.Errorf("look for %s: %w", tag, err)
	}
	want, _, err := v1.SHA256(bytes.NewReader(data))
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(manifest.Layers, func(l v1.Descriptor) bool { return l.Digest == want }) {
		return fmt.Errorf("%s is there already, with other content: give the chart another version in %s", tag, versions.File)
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
	fmt.Fprintf(o.Log, "oci://%s --version %s: %s\n", c.tag.Context(), c.tag.TagStr(), result.Manifest.Digest)
	return c.tag.Digest(result.Manifest.Digest).String(), nil
}
