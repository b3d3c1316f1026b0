// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// installedDashboard holds the fields that distinguish the dashboards of two installations.
type installedDashboard struct {
	// File is the file name under which Grafana's sidecar stores the dashboard.
	File  string
	UID   string `json:"uid"`
	Title string `json:"title"`
	// Namespace is the default value of the dashboard's namespace variable.
	Namespace string
	// rest holds all other fields.
	rest map[string]any
}

func dashboardOf(t *testing.T, release, namespace string) installedDashboard {
	t.Helper()
	r, err := renderRelease(t, release, namespace, parseValues(t, `monitoring: {dashboard: {enabled: true}}`))
	if err != nil {
		t.Fatal(err)
	}
	var found []installedDashboard
	for _, o := range r.of("ConfigMap") {
		if o.GetLabels()["grafana_dashboard"] == "" {
			continue
		}
		for file, text := range as[corev1.ConfigMap](t, o).Data {
			d := installedDashboard{File: file}
			if err := json.Unmarshal([]byte(text), &d); err != nil {
				t.Fatal(err)
			}
			d.rest, d.Namespace = dashboardWithout(t, text)
			found = append(found, d)
		}
	}
	if len(found) != 1 {
		t.Fatalf("got %d dashboards, want 1", len(found))
	}
	return found[0]
}

// dashboardWithout returns a dashboard without the fields that are specific to one release, and the default of its namespace variable.
func dashboardWithout(t *testing.T, text string) (dashboard map[string]any, namespace string) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &dashboard); err != nil {
		t.Fatal(err)
	}
	delete(dashboard, "uid")
	delete(dashboard, "title")
	templating, _ := dashboard["templating"].(map[string]any)
	variables, _ := templating["list"].([]any)
	for _, v := range variables {
		variable, _ := v.(map[string]any)
		if variable["name"] == "namespace" {
			current, _ := variable["current"].(map[string]any)
			namespace, _ = current["value"].(string)
			delete(variable, "current")
		}
	}
	return dashboard, namespace
}

// grafanaUID matches the uids that Grafana accepts.
var grafanaUID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,40}$`)

// Grafana can show the dashboards of all installations in a cluster: they differ only in the fields that identify them to Grafana and
// its sidecar. An upgrade does not change these fields.
func TestDashboardsOfInstallations(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(chartDir(t), "dashboards", "krmfn.json"))
	if err != nil {
		t.Fatal(err)
	}
	source, _ := dashboardWithout(t, string(text))
	taken := map[string]string{}
	for _, in := range []struct{ release, namespace string }{
		{"krmfn", "porch-system"},
		{"krmfn", "porch-system-b"},
		{"b-krmfn", "porch-system-c"},
		{"c-b-krmfn", "porch-system-d"},
		{strings.Repeat("r", 53), strings.Repeat("n", 63)},
		{strings.Repeat("r", 53), strings.Repeat("n", 62) + "m"},
	} {
		d := dashboardOf(t, in.release, in.namespace)
		for what, value := range map[string]string{"uid": d.UID, "title": d.Title, "file": d.File} {
			if other := taken[what+value]; other != "" {
				t.Errorf("the dashboards of %s and %s have the same %s %q", other, in.namespace, what, value)
			}
			taken[what+value] = in.namespace
		}
		if !grafanaUID.MatchString(d.UID) {
			t.Errorf("uid = %q, want one that matches %s", d.UID, grafanaUID)
		}
		if d.Namespace != in.namespace {
			t.Errorf("dashboard of %s: default namespace = %q, want the release's namespace", in.namespace, d.Namespace)
		}
		if diff := cmp.Diff(source, d.rest); diff != "" {
			t.Errorf("dashboard of %s (-file +installed):\n%s", in.namespace, diff)
		}
	}
	// Links to a dashboard stay valid across versions, because its uid depends only on the names of the release and the namespace.
	want := installedDashboard{File: "krmfn-porch-system.json", UID: "krmfn-576f0eff06d12ccf", Title: "krmfn (porch-system)", Namespace: "porch-system"}
	got := dashboardOf(t, "krmfn", "porch-system")
	got.rest = nil
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(installedDashboard{})); diff != "" {
		t.Errorf("dashboard of release krmfn in porch-system (-want +got):\n%s", diff)
	}
	if a, b := dashboardOf(t, "a", "porch-system").UID, dashboardOf(t, "b", "porch-system").UID; a == b {
		t.Errorf("two releases have dashboards with the same uid %s", a)
	}
}
