// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"errors"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// shapes are incomplete items: without apiVersion, kind or metadata, or with other types of values there.
var shapes = []string{
	"{}", "{a: b}", "{kind: A}", "{apiVersion: v1}", "{apiVersion: v1, kind: ConfigMap}", "{apiVersion: v1, kind: ConfigMap, metadata: {}}",
	"{metadata: {name: a}}", "{kind: A, metadata: {name: a}}", "{apiVersion: apps/v1, metadata: {name: a, namespace: b}}",
	"{apiVersion: ~, kind: ~, metadata: ~}", "{apiVersion: 1, kind: 2, metadata: {name: 3, namespace: 4}}",
	"{apiVersion: a/b/c, kind: A, metadata: {name: a}}", "{apiVersion: /, kind: '', metadata: {name: ''}}",
	"{apiVersion: [], kind: {}, metadata: []}", "{apiVersion: v1, kind: Pod, metadata: x, spec: y}",
	"{apiVersion: v1, kind: Pod, metadata: {name: [], annotations: x, labels: []}}",
	"{apiVersion: v1, kind: Pod, metadata: {name: p, annotations: {config.kubernetes.io/path: [], a: ~}}}",
	"{kind: Kptfile}", "{apiVersion: kpt.dev/v1alpha1, kind: Kptfile, metadata: ~, openAPI: [], upstream: x, packageMetadata: [y]}",
	"{apiVersion: templates.gatekeeper.sh/v1, kind: ConstraintTemplate, spec: x}", "{apiVersion: constraints.gatekeeper.sh/v1, kind: A, spec: []}",
	"{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {template: [], selector: x}}",
	"{kind: CronJob, spec: {jobTemplate: {spec: ~}}}", "{kind: RoleBinding, subjects: {a: b}, roleRef: []}",
}

// For any item, a function's output can be parsed, and only the function that removes items removes it.
func TestShapesOfItems(t *testing.T) {
	t.Parallel()
	for _, f := range All() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			for _, config := range []string{"", workConfigs[f.Name], moreConfigs[f.Name], orderConfigs[f.Name]} {
				for _, shape := range shapes {
					out, err := function.Run(t.Context(), f, []byte(functiontest.List("- "+shape+"\n", config)))
					if panicked := (*function.PanicError)(nil); errors.As(err, &panicked) {
						t.Errorf("%s: the function panics: %v", shape, err)
						continue
					}
					rl, parseErr := fn.ParseResourceList(out)
					if parseErr != nil {
						t.Errorf("%s: error = %v, the output cannot be parsed: %v", shape, err, parseErr)
						continue
					}
					if len(rl.Items) == 0 && f.Name != "remove-local-config-resources" {
						t.Errorf("%s is missing in the output with %q", shape, config)
					}
				}
			}
		})
	}
}
