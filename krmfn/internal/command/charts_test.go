// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"path/filepath"
	"testing"
)

// Charts of the package itself are rendered without further ado, in this process and in one of their own; those of elsewhere are
// not.
func TestChartsOfThePackage(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		".krmignore":                   "charts\n",
		"charts/web/Chart.yaml":        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"charts/web/templates/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-chart}\n",
		"render.yaml": "apiVersion: fn.kpt.dev/v1alpha1\nkind: RenderHelmChart\nmetadata:\n  name: c\n  annotations: {config.kubernetes.io/local-config: \"true\"}\n" +
			"helmGlobals: {chartHome: charts}\nhelmCharts: [{chartArgs: {name: web}, templateOptions: {releaseName: r}}]\n",
		"Kptfile": "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: shop}\npipeline:\n  mutators: [{image: render-helm-chart, configPath: render.yaml}]\n",
	}
	for _, isolate := range []string{"--isolate=false", "--isolate"} {
		dir := newPackage(t, files)
		krmfn(t, "render", dir, isolate).ok(t)
		if made := snapshot(t, dir)["configmap_r-chart.yaml"]; made == "" {
			t.Errorf("%s: there is no ConfigMap among %v", isolate, snapshot(t, dir))
		}
	}
	dir := newPackage(t, files)
	krmfn(t, "eval", dir, "--image", "render-helm-chart", "--fn-config", filepath.Join(dir, "render.yaml")).ok(t)
	if made := snapshot(t, dir)["configmap_r-chart.yaml"]; made == "" {
		t.Errorf("eval: there is no ConfigMap among %v", snapshot(t, dir))
	}
	got := invocation{args: []string{"render", dir}, environ: []string{"RENDER_HELM_CHART_DIR=" + t.TempDir()}}.run(t.Context(), t)
	contains(t, got.err, "chart web: charts/web is not in the directory of RENDER_HELM_CHART_DIR")
}
