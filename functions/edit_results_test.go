// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"strings"
	"testing"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

func TestEditsKeepResults(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]string{
		"set-image":                     "{name: a, newTag: b}",
		"search-replace":                "{by-value: a}",
		"create-setters":                "{a: b}",
		"delete-annotations":            "{annotationKeys: a}",
		"fix":                           "{}",
		"list-setters":                  "{}",
		"remove-local-config-resources": "{}",
		"set-enforcement-action":        "{enforcementAction: deny}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input := functiontest.List("", "apiVersion: v1\nkind: ConfigMap\ndata: "+data) + "results:\n- message: before\n"
			out, _ := functiontest.Evaluate(t, lookup(t, name), input)
			if !strings.HasPrefix(out, "results:\n- message: before\n- ") {
				t.Errorf("want the previous result first, followed by others:\n%s", out)
			}
		})
	}
}

// Functions without results of their own keep the previous results.
func TestQuietEditsKeepResults(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"ensure-name-substring", "upsert-resource", "set-project-id", "format", "no-op", "set-name-prefix"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			input := functiontest.List(workItems, workConfigs[name]) + "results:\n- message: before\n"
			out, err := functiontest.Evaluate(t, lookup(t, name), input)
			if want := "results:\n- message: before\n"; err != nil || !strings.HasSuffix(out, want) {
				t.Errorf("error = %v, want only the previous results:\n%s", err, out)
			}
		})
	}
}
