// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderhelmchart

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
)

// render returns the manifests of a chart in the order of `helm template`: custom resource definitions if requested, then the
// installed resources, then hooks.
func (c chartConfig) render(ctx context.Context, f files) ([]string, error) {
	loaded, err := f.chart(ctx, c)
	if err != nil {
		return nil, err
	}
	if err := checkRenderable(loaded); err != nil {
		return nil, err
	}
	values, err := c.values(ctx, f)
	if err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependencies(loaded, values); err != nil {
		return nil, err
	}
	capabilities, name, err := c.options()
	if err != nil {
		return nil, err
	}
	release := chartutil.ReleaseOptions{Name: name, Namespace: c.TemplateOptions.Namespace, Revision: 1, IsInstall: true}
	rendering, err := chartutil.ToRenderValues(loaded, values, release, capabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(loaded, rendering)
	if err != nil {
		return nil, err
	}
	return c.sorted(loaded, rendered, capabilities)
}

// checkRenderable returns an error for a chart that cannot be rendered.
func checkRenderable(loaded *chart.Chart) error {
	if loaded.Metadata.Type == "library" {
		return errors.New("it is a library, which has nothing to render")
	}
	for _, needed := range loaded.Metadata.Dependencies {
		has := func(have *chart.Chart) bool { return have.Name() == needed.Name }
		if !slices.ContainsFunc(loaded.Dependencies(), has) {
			return fmt.Errorf("it needs %s, which is not in its directory charts: run `helm dependency build`", needed.Name)
		}
	}
	return nil
}

// options returns the capabilities of the target cluster and the release name.
func (c chartConfig) options() (*chartutil.Capabilities, string, error) {
	options := c.TemplateOptions
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.APIVersions = append(capabilities.APIVersions, options.APIVersions...)
	if options.KubeVersion != "" {
		version, err := chartutil.ParseKubeVersion(options.KubeVersion)
		if err != nil {
			return nil, "", fmt.Errorf("templateOptions.kubeVersion is %q: %w", options.KubeVersion, err)
		}
		capabilities.KubeVersion = *version
	}
	if options.NameTemplate == "" {
		return capabilities, options.ReleaseName, nil
	}
	functions := sprig.TxtFuncMap()
	for _, outside := range []string{"env", "expandenv", "getHostByName"} {
		delete(functions, outside)
	}
	parsed, err := template.New("nameTemplate").Funcs(functions).Parse(options.NameTemplate)
	if err != nil {
		return nil, "", err
	}
	var name strings.Builder
	if err := parsed.Execute(&name, nil); err != nil {
		return nil, "", err
	}
	return capabilities, name.String(), nil
}

// values returns the merged values of the functionConfig, without the chart's defaults.
func (c chartConfig) values(ctx context.Context, f files) (map[string]any, error) {
	given := c.TemplateOptions.Values
	fromFiles := map[string]any{}
	for _, name := range given.ValuesFiles {
		text, err := f.values(ctx, name)
		if err != nil {
			return nil, err
		}
		values, err := chartutil.ReadValues(text)
		if err != nil {
			return nil, fmt.Errorf("values of %s: %w", name, err)
		}
		fromFiles = chartutil.MergeTables(values, fromFiles)
	}
	inline := given.ValuesInline
	if inline == nil {
		inline = map[string]any{}
	}
	switch given.ValuesMerge {
	case "replace":
		return inline, nil
	case "merge":
		return chartutil.MergeTables(fromFiles, inline), nil
	default:
		return chartutil.MergeTables(inline, fromFiles), nil
	}
}

// values returns the content of a values file.
func (f files) values(ctx context.Context, name string) ([]byte, error) {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		if !f.download {
			return nil, fmt.Errorf("%s may not be downloaded unless %s is \"true\"", name, downloadVariable)
		}
		return get(ctx, name, login{})
	}
	text, err := f.read(local(name), maxChart)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.errMissing(name)
	}
	return text, err
}

// sorted returns the rendered manifests in install order.
func (c chartConfig) sorted(loaded *chart.Chart, rendered map[string]string, capabilities *chartutil.Capabilities) ([]string, error) {
	maps.DeleteFunc(rendered, func(name, _ string) bool { return strings.HasSuffix(name, "NOTES.txt") })
	hooks, manifests, err := releaseutil.SortManifests(rendered, capabilities.APIVersions, releaseutil.InstallOrder)
	if err != nil {
		return nil, err
	}
	var all []string
	if c.TemplateOptions.IncludeCRDs {
		for _, crd := range loaded.CRDObjects() {
			all = append(all, string(crd.File.Data))
		}
	}
	for _, manifest := range manifests {
		all = append(all, manifest.Content)
	}
	for _, hook := range hooks {
		if c.TemplateOptions.SkipTests && slices.Contains(hook.Events, release.HookTest) {
			continue
		}
		all = append(all, hook.Manifest)
	}
	return all, nil
}
