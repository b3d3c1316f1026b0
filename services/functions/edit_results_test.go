// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"strings"
	"testing"
)

func TestEditsKeepResults(t *testing.T) {
	t.Parallel()
	for function, data := range map[string]string{
		"set-image":                     "{name: a, newTag: b}",
		"search-replace":                "{by-value: a}",
		"create-setters":                "{a: b}",
		"list-setters":                  "{}",
		"remove-local-config-resources": "{}",
		"set-enforcement-action":        "{enforcementAction: deny}",
	} {
		t.Run(function, func(t *testing.T) {
			t.Parallel()
			input := list("", "apiVersion: v1\nkind: ConfigMap\ndata: "+data) + "results:\n- message: before\n"
			out, _ := evaluate(t, function, input)
			if !strings.HasPrefix(out, "results:\n- message: before\n- ") {
				t.Errorf("the result from before is not the first of several:\n%s", out)
			}
		})
	}
}
