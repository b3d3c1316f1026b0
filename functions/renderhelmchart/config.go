// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renderhelmchart

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
)

// chartConfig is the configuration of one chart.
type chartConfig struct {
	chartHome string // the same for all charts

	ChartArgs struct {
		Name     string     `json:"name"`
		Version  string     `json:"version"`
		Repo     string     `json:"repo"`
		Registry string     `json:"registry"`
		Auth     *secretRef `json:"auth"`
	} `json:"chartArgs"`
	TemplateOptions struct {
		APIVersions  []string `json:"apiVersions"`
		KubeVersion  string   `json:"kubeVersion"`
		Description  string   `json:"description"`
		ReleaseName  string   `json:"releaseName"`
		Namespace    string   `json:"namespace"`
		NameTemplate string   `json:"nameTemplate"`
		IncludeCRDs  bool     `json:"includeCRDs"`
		SkipTests    bool     `json:"skipTests"`
		Values       struct {
			ValuesFiles  []string       `json:"valuesFiles"`
			ValuesInline map[string]any `json:"valuesInline"`
			ValuesMerge  string         `json:"valuesMerge"`
		} `json:"values"`
	} `json:"templateOptions"`
}

// defaultChartHome is the default directory of charts.
const defaultChartHome = "tmp/charts"

func chartsOf(config *fn.KubeObject) ([]chartConfig, error) {
	var charts []chartConfig
	var err error
	switch version, kind := config.GetAPIVersion(), config.GetKind(); {
	case config.IsEmpty():
		err = errors.New("functionConfig is missing: want a RenderHelmChart.v1alpha1.fn.kpt.dev or a v1 ConfigMap")
	case version == "v1" && kind == "ConfigMap":
		charts, err = chartOfData(config)
	case version == fn.KptFunctionAPIVersion && kind == "RenderHelmChart":
		var typed struct {
			HelmGlobals struct {
				ChartHome string `json:"chartHome"`
			} `json:"helmGlobals"`
			HelmCharts []chartConfig `json:"helmCharts"`
		}
		if err = yaml.Unmarshal(config.Bytes(), &typed); err != nil {
			err = errors.New(nodes.OneLine(functionconfig.WithoutTypes(err)))
		}
		charts = typed.HelmCharts
		for i := range charts {
			charts[i].chartHome = typed.HelmGlobals.ChartHome
		}
	default:
		err = fmt.Errorf("functionConfig is a %s %s: want a %s RenderHelmChart or a v1 ConfigMap", version, kind, fn.KptFunctionAPIVersion)
	}
	if err != nil {
		return nil, err
	}
	if len(charts) == 0 {
		return nil, errors.New("functionConfig has no helmCharts: name at least one chart")
	}
	for i := range charts {
		if err := charts[i].complete(); err != nil {
			return nil, fmt.Errorf("helmCharts[%d]: %w", i, err)
		}
	}
	return charts, nil
}

// complete sets defaults and validates the configuration.
func (c *chartConfig) complete() error {
	options := &c.TemplateOptions
	if c.chartHome == "" {
		c.chartHome = defaultChartHome
	}
	if options.ReleaseName == "" {
		options.ReleaseName = "release-name"
	}
	if options.Namespace == "" {
		options.Namespace = "default"
	}
	if options.Values.ValuesMerge == "" {
		options.Values.ValuesMerge = "override"
	}
	switch {
	case c.ChartArgs.Name == "":
		return errors.New("chartArgs.name must be given")
	case c.ChartArgs.Auth != nil && (c.ChartArgs.Auth.Kind != "Secret" || c.ChartArgs.Auth.Name == ""):
		return fmt.Errorf("chartArgs.auth is the %s %q: want kind Secret and a name", cmp.Or(c.ChartArgs.Auth.Kind, "resource"), c.ChartArgs.Auth.Name)
	case !slices.Contains([]string{"override", "merge", "replace"}, options.Values.ValuesMerge):
		return fmt.Errorf("templateOptions.values.valuesMerge is %q: want override, merge or replace", options.Values.ValuesMerge)
	}
	return nil
}

// chartOfData parses the single chart of a ConfigMap.
func chartOfData(config *fn.KubeObject) ([]chartConfig, error) {
	data, err := functionconfig.Data(config)
	if err != nil {
		return nil, err
	}
	var c chartConfig
	options := &c.TemplateOptions
	texts := map[string]*string{
		"chartHome": &c.chartHome, "name": &c.ChartArgs.Name, "version": &c.ChartArgs.Version, "repo": &c.ChartArgs.Repo,
		"registry": &c.ChartArgs.Registry, "releaseName": &options.ReleaseName, "namespace": &options.Namespace,
		"nameTemplate": &options.NameTemplate, "description": &options.Description, "kubeVersion": &options.KubeVersion,
	}
	switches := map[string]*bool{"includeCRDs": &options.IncludeCRDs, "skipTests": &options.SkipTests}
	lists := map[string]*[]string{"apiVersions": &options.APIVersions, "valuesFile": &options.Values.ValuesFiles}
	for _, key := range functionconfig.Keys(config) {
		switch value := data[key]; {
		case texts[key] != nil:
			*texts[key] = value
		case switches[key] != nil:
			if *switches[key], err = strconv.ParseBool(value); err != nil {
				return nil, fmt.Errorf("data.%s is %q: want true or false", key, value)
			}
		case lists[key] != nil:
			*lists[key] = strings.Split(value, ",")
		default:
			return nil, fmt.Errorf("data.%s is not known", key)
		}
	}
	return []chartConfig{c}, nil
}
