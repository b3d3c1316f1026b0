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

	"github.com/krmfn/krmfn/services/render/yamlnode"
	"github.com/krmfn/krmfn/tools/release/internal/archive"
	"github.com/krmfn/krmfn/tools/release/internal/versions"
)

// Package is a packaged chart.
type Package struct {
	// Name is that of the file: "krmfn-1.2.3.tgz".
	Name string
	Data []byte
}

// Pack packages the chart in dir with the versions of a release: version and appVersion are the chart's, and images whose
// version is another get their own tag. Helm's own packages have the time at which they were made; this one has at, so
// that the same chart gives the same bytes.
func Pack(dir string, v versions.Versions, at time.Time) (Package, error) {
	source, err := loader.LoadDir(dir)
	if err != nil {
		return Package{}, fmt.Errorf("load chart %s: %w", dir, err)
	}
	files, err := stamped(source, v)
	if err != nil {
		return Package{}, fmt.Errorf("chart %s: %w", dir, err)
	}
	var buf bytes.Buffer
	if err := archive.TarGz(&buf, at, files); err != nil {
		return Package{}, fmt.Errorf("chart %s: %w", dir, err)
	}
	if err := check(buf.Bytes(), v); err != nil {
		return Package{}, fmt.Errorf("chart %s: %w", dir, err)
	}
	return Package{Name: FileName(source.Name(), v), Data: buf.Bytes()}, nil
}

// FileName is the name of a chart's package.
func FileName(chart string, v versions.Versions) string {
	return chart + "-" + strings.TrimPrefix(v.Chart, "v") + ".tgz"
}

// stamped returns the files of a chart with the versions in them.
func stamped(source *chart.Chart, v versions.Versions) ([]archive.File, error) {
	files := make([]archive.File, 0, len(source.Raw))
	for _, raw := range source.Raw {
		data := raw.Data
		var err error
		switch raw.Name {
		case "Chart.yaml":
			data, err = stampMetadata(data, v)
		case "values.yaml":
			data, err = stampValues(data, v.Differing())
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", raw.Name, err)
		}
		files = append(files, archive.File{Name: path.Join(source.Name(), raw.Name), Mode: 0o644, Data: data})
	}
	slices.SortFunc(files, func(a, b archive.File) int { return cmp.Compare(a.Name, b.Name) })
	return files, nil
}

// stampMetadata sets version and appVersion, and leaves the rest of Chart.yaml as people wrote it.
func stampMetadata(data []byte, v versions.Versions) ([]byte, error) {
	for _, line := range []struct{ key, value string }{{"version", strings.TrimPrefix(v.Chart, "v")}, {"appVersion", v.Chart}} {
		pattern := regexp.MustCompile("(?m)^" + line.key + ":.*$")
		if n := len(pattern.FindAll(data, -1)); n != 1 {
			return nil, fmt.Errorf("%d lines begin with %s:, want one", n, line.key)
		}
		data = pattern.ReplaceAllLiteral(data, []byte(line.key+": "+line.value))
	}
	return data, nil
}

// stampValues writes tags into image.tags, which must be there and empty: {}. All else stays as people wrote it.
func stampValues(data []byte, tags map[string]string) ([]byte, error) {
	if len(tags) == 0 {
		return data, nil
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	node := yamlnode.Lookup(&doc, "image", "tags")
	if node == nil {
		return nil, fmt.Errorf("there is no image.tags, which is for images of another version than the chart's: %s", flow(tags))
	}
	lines := strings.SplitAfter(string(data), "\n")
	line := lines[node.Line-1]
	before, after := line[:node.Column-1], line[node.Column-1:]
	if !strings.HasPrefix(after, "{}") {
		return nil, fmt.Errorf("line %d: image.tags is not {}: versions belong into versions.yaml", node.Line)
	}
	lines[node.Line-1] = before + flow(tags) + strings.TrimPrefix(after, "{}")
	return []byte(strings.Join(lines, "")), nil
}

func flow(tags map[string]string) string {
	entries := make([]string, 0, len(tags))
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		entries = append(entries, name+": "+tags[name])
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

func check(data []byte, v versions.Versions) error {
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
	for name, want := range v.Differing() {
		image, _ := packed.Values["image"].(map[string]any)
		tags, _ := image["tags"].(map[string]any)
		if tags[name] != want {
			return fmt.Errorf("the package has tag %v for the image %s, want %s", tags[name], name, want)
		}
	}
	return nil
}
