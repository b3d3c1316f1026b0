// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/e2e/install"
)

// others are values that differ from the chart's own, by what the schema calls them or, where that says too little, by path.
var others = map[string]any{
	"duration": "17s", "name": "other", "namespace": "other", "optionalName": "other", "tag": "v17", "cron": "17 7 * * *",
	"strings": map[string]any{"other": "value"}, "objects": []any{map[string]any{"other": "value"}}, "args": []any{"--other"},
	"env":        []any{map[string]any{"name": "OTHER", "value": "value"}},
	"quantities": map[string]any{"memory": "17Mi"}, "count": 17, "countOrNone": 17,

	"image.registry":                     "registry.example.org",
	"image.tag":                          "v17",
	"imagePullSecrets":                   []any{map[string]any{"name": "other"}},
	"functionNamespace.resourceQuota":    map[string]any{"pods": 17},
	"functionPodTemplate.pod":            map[string]any{"kind": "Pod"},
	"functionPodTemplate.service":        map[string]any{"spec": map[string]any{"type": "Other"}},
	"functions":                          []any{map[string]any{"name": "a/b:v1"}},
	"images.defaultPrefix":               "registry.example.org/other",
	"images.policy.allow":                []any{map[string]any{"prefix": "a"}},
	"images.policy.allow.0.digest":       "sha256:" + strings.Repeat("0", 64),
	"imageWarmer.images":                 []any{"a/b:v17"},
	"imageWarmer.prepull.tolerations":    []any{"other"},
	"monitoring.serviceMonitor.interval": "17s",
	"networkPolicy.egress":               []any{map[string]any{}},
	"resultCacheSize":                    "17Mi",
	"taskHandler.functionRunner":         "other:9445",
	"tests.functions":                    []any{map[string]any{"image": "a/b:v17"}},
}

// companions are values without which others, those below the path, do nothing.
var companions = []struct{ path, values string }{
	{"autoscaling.", `autoscaling: {enabled: true}`},
	{"functionNamespace.podSecurity", `functionNamespace: {create: true}`},
	{"functionPodTemplate.service", switches["template"]},
	{"imageWarmer.", switches["warmer"]},
	{"monitoring.serviceMonitor.", `monitoring: {serviceMonitor: {enabled: true}}`},
	{"monitoring.prometheusRule.", `monitoring: {prometheusRule: {enabled: true}}`},
	{"monitoring.dashboard.", `monitoring: {dashboard: {enabled: true}}`},
	{"privateRegistries.caSecret", `privateRegistries: {credentialsSecret: pull}`},
	{"taskHandler.", `taskHandler: {enabled: true}`},
	{"image.tags.image-warmer", switches["warmer"]},
	{"image.tags.task-handler", `taskHandler: {enabled: true}`},
}

// another returns a value that a leaf does not have now.
func another(t *testing.T, l *valueLeaf, now any) any {
	t.Helper()
	for _, key := range []string{l.String(), l.definition} {
		if value, given := others[key]; given {
			return value
		}
	}
	switch {
	case l.schema.Enum != nil:
		for _, value := range l.schema.Enum {
			if value != now {
				return value
			}
		}
	case l.schema.Type == "boolean":
		set, _ := now.(bool)
		return !set
	case l.schema.Type == "integer":
		return 17
	case l.schema.Type == "string":
		return "other"
	case l.schema.Type == "array" && l.schema.Items.Type == "object":
		return []any{map[string]any{"other": "value"}}
	case l.schema.Type == "object":
		return map[string]any{"other": "value"}
	}
	t.Fatalf("no other value is known for %s: give one", l)
	return nil
}

// lookup returns what a value is; nil where it is not set.
func lookup(values any, path []string) any {
	for _, name := range path {
		below, _ := values.(map[string]any)
		values = below[name]
	}
	return values
}

// unused are the values that change no manifest, with the reason.
var unused = map[string]string{
	"global":               "Helm's, for charts that have others below them",
	"image.tags.functions": "a release sets the tags of all images, and the chart does not install this one",
}

// A value that changes nothing is a promise that is not kept.
func TestEachValueCounts(t *testing.T) {
	t.Parallel()
	parsed := loadChart(t)
	for _, l := range leaves(t) {
		if unused[l.String()] != "" {
			continue
		}
		t.Run(l.String(), func(t *testing.T) {
			t.Parallel()
			base := map[string]any{}
			for _, c := range companions {
				if strings.HasPrefix(l.String(), c.path) {
					base = install.MergeValues(base, parseValues(t, c.values))
				}
			}
			now := lookup(install.MergeValues(parsed.Values, base), l.path)
			changed := install.MergeValues(base, at(l.path, another(t, l, now)))
			// An element of a list is new itself.
			if len(l.path) > 1 && strings.Contains(l.String(), ".0.") {
				base = install.MergeValues(base, bare(l.path))
			}
			if renderOnce(t, base).text == renderOnce(t, changed).text {
				t.Errorf("%v makes no difference", changed)
			}
		})
	}
}

// bare returns values with the list that a path leads through, its elements with what they must have alone.
func bare(path []string) map[string]any {
	for i, name := range path {
		if name == "0" {
			return at(path[:i+1], map[string]any{})
		}
	}
	return nil
}
