// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package renderhelmchart implements the function render-helm-chart.
package renderhelmchart

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function render-helm-chart.
var Function = function.Function{
	Name:    "render-helm-chart",
	Version: "v0.2.2",
	Summary: "renders Helm charts into resources",
	Traits:  function.Traits{Worker: true},
	Config: "fn.kpt.dev/v1alpha1 RenderHelmChart with helmGlobals.chartHome and helmCharts, each with chartArgs and templateOptions\n" +
		"v1 ConfigMap with data.name, and as needed any of chartHome, version, repo, registry, releaseName, namespace, nameTemplate, " +
		"apiVersions, includeCRDs, skipTests, valuesFile\n" +
		"Charts and files of values are read below the directory that the environment variable " + DirectoryVariable + " names, and, if " +
		downloadVariable + " is \"true\", fetched from the repository or registry of a chart that is not there",
	Heavy:     true,
	Process:   renderHelmChart,
	KeepsList: true,
}

const (
	// DirectoryVariable is the environment variable with the directory of charts. The operator who runs the function sets it,
	// not the author of the functionConfig.
	DirectoryVariable = "RENDER_HELM_CHART_DIR"
	// downloadVariable is the environment variable that permits downloads.
	downloadVariable = "RENDER_HELM_CHART_DOWNLOAD"
)

// renderHelmChart adds the resources of charts. It replaces existing resources in place.
func renderHelmChart(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	charts, err := chartsOf(rl.FunctionConfig)
	if err != nil {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		return false, nil
	}
	files, err := openFiles(function.ProgramOf(ctx).Environ, rl.Items)
	if err != nil {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		return false, nil
	}
	defer files.close()
	for _, c := range charts {
		manifests, err := c.render(ctx, files)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err == nil {
			err = upsert(rl, manifests)
		}
		if err != nil {
			rl.LogResult(fn.ErrorConfigObjectResult(fmt.Errorf("chart %s: %s", c.ChartArgs.Name, nodes.OneLine(err)), rl.FunctionConfig))
			return false, nil
		}
	}
	return true, nil
}

// upsert adds the resources of manifests to a list. A resource with the same group, kind, namespace and name is replaced in
// place.
func upsert(rl *fn.ResourceList, manifests []string) error {
	for _, manifest := range manifests {
		objects, err := fn.ParseKubeObjects([]byte(manifest))
		if err != nil {
			return fmt.Errorf("a manifest cannot be read: %w", err)
		}
		for _, object := range objects {
			id := identityOf(object)
			at := slices.IndexFunc(rl.Items, func(item *fn.KubeObject) bool { return identityOf(item) == id })
			if at < 0 {
				rl.Items = append(rl.Items, object)
				continue
			}
			for name, value := range rl.Items[at].GetAnnotations() {
				if origin.IsBookkeeping(name) && !strings.HasPrefix(name, fn.UpstreamIdentifier) {
					if err := object.SetAnnotation(name, value); err != nil {
						return err
					}
				}
			}
			rl.Items[at] = object
		}
	}
	return nil
}

type identity struct{ group, kind, namespace, name string }

func identityOf(object *fn.KubeObject) identity {
	group, _, found := strings.Cut(object.GetAPIVersion(), "/")
	if !found {
		group = ""
	}
	return identity{group, object.GetKind(), object.GetNamespace(), object.GetName()}
}
