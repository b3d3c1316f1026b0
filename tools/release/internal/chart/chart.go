// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package chart packages the Helm chart of a release.
package chart

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/krmfn/krmfn/internal/archive"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

// Package is a packaged chart.
type Package struct {
	// Name is the file name, such as "krmfn-1.2.3.tgz".
	Name string
	Data []byte
}

// Pack packages the chart in dir with the versions of a release: version and appVersion are the chart's version, images with another
// version get their own tag, and images of the release get their digest. digests holds the digests by image name. All files get the
// timestamp at, so that equal charts give equal bytes; helm package would use the current time.
func Pack(dir string, v versions.Versions, digests map[string]string, at time.Time) (Package, error) {
	source, err := loader.LoadDir(dir)
	if err != nil {
		return Package{}, fmt.Errorf("load chart %s: %w", dir, err)
	}
	files, err := stamped(source, v, digests)
	if err != nil {
		return Package{}, fmt.Errorf("chart %s: %w", dir, err)
	}
	var buf bytes.Buffer
	if err := archive.TarGz(&buf, at, files); err != nil {
		return Package{}, fmt.Errorf("chart %s: %w", dir, err)
	}
	if err := check(buf.Bytes(), v, pinned(v, digests)); err != nil {
		return Package{}, fmt.Errorf("chart %s: %w", dir, err)
	}
	return Package{Name: FileName(source.Name(), v), Data: buf.Bytes()}, nil
}

// FileName returns the file name of a chart's package.
func FileName(chart string, v versions.Versions) string {
	return chart + "-" + strings.TrimPrefix(v.Chart, "v") + ".tgz"
}

// pinned returns the value of image.digests: the tag of each image with its digest.
func pinned(v versions.Versions, digests map[string]string) map[string]string {
	pins := make(map[string]string, len(digests))
	for name, digest := range digests {
		pins[name] = v.Images[name] + "@" + digest
	}
	return pins
}

// stamped returns the files of a chart with the versions of the release.
func stamped(source *chart.Chart, v versions.Versions, digests map[string]string) ([]archive.File, error) {
	files := make([]archive.File, 0, len(source.Raw))
	for _, raw := range source.Raw {
		data := raw.Data
		var err error
		switch raw.Name {
		case "Chart.yaml":
			data, err = stampMetadata(data, v)
		case "values.yaml":
			if data, err = stampValues(data, "tags", v.Differing()); err == nil {
				data, err = stampValues(data, "digests", pinned(v, digests))
			}
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", raw.Name, err)
		}
		files = append(files, archive.File{Name: path.Join(source.Name(), raw.Name), Mode: 0o644, Data: data})
	}
	slices.SortFunc(files, func(a, b archive.File) int { return cmp.Compare(a.Name, b.Name) })
	return files, nil
}

// stampMetadata sets version and appVersion in Chart.yaml, and keeps the comments and formatting.
func stampMetadata(data []byte, v versions.Versions) ([]byte, error) {
	for _, line := range []struct{ key, value string }{{"version", strings.TrimPrefix(v.Chart, "v")}, {"appVersion", v.Chart}} {
		pattern := regexp.MustCompile("(?m)^" + line.key + ":.*$")
		if n := len(pattern.FindAll(data, -1)); n != 1 {
			return nil, fmt.Errorf("%d lines begin with %s:, want 1", n, line.key)
		}
		data = pattern.ReplaceAllLiteral(data, []byte(line.key+": "+line.value))
	}
	return data, nil
}

// stampValues writes entries to the map key of image in values.yaml. The map must be empty: {}. Comments and formatting are kept.
func stampValues(data []byte, key string, entries map[string]string) ([]byte, error) {
	if len(entries) == 0 {
		return data, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	node := yamlnode.Lookup(&doc, "image", key)
	if node == nil {
		return nil, fmt.Errorf("values.yaml has no image.%s, which the release sets to %s", key, flow(entries))
	}
	lines := strings.SplitAfter(string(data), "\n")
	line := lines[node.Line-1]
	before, after := line[:node.Column-1], line[node.Column-1:]
	if !strings.HasPrefix(after, "{}") {
		return nil, fmt.Errorf("line %d: image.%s is not {}: only a release may set it", node.Line, key)
	}
	lines[node.Line-1] = before + flow(entries) + strings.TrimPrefix(after, "{}")
	return []byte(strings.Join(lines, "")), nil
}

func flow(tags map[string]string) string {
	entries := make([]string, 0, len(tags))
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		entries = append(entries, name+": "+tags[name])
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// check loads the package with Helm, and returns an error if it lacks the versions, tags or pins.
func check(data []byte, v versions.Versions, pins map[string]string) error {
	packed, err := loader.LoadArchive(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("read the package: %w", err)
	}
	if err := packed.Validate(); err != nil {
		return fmt.Errorf("validate the package: %w", err)
	}
	if got := "v" + packed.Metadata.Version; got != v.Chart || packed.AppVersion() != v.Chart {
		return fmt.Errorf("the package has version %s and appVersion %s, want %s", got, packed.AppVersion(), v.Chart)
	}
	image, _ := packed.Values["image"].(map[string]any)
	for key, wanted := range map[string]map[string]string{"tags": v.Differing(), "digests": pins} {
		entries, _ := image[key].(map[string]any)
		for name, want := range wanted {
			if entries[name] != want {
				return fmt.Errorf("the package has image.%s %v for the image %s, want %s", key, entries[name], name, want)
			}
		}
	}
	return nil
}
