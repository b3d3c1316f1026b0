// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

//go:build !light

package validatecel

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/functiontest"
)

// FuzzValidateCEL checks properties for arbitrary input: no panic, no changes, success if and only if no result is an error,
// and the same results in a second run.
func FuzzValidateCEL(f *testing.F) {
	f.Add("{kind: A, spec: {a: [1, 0.5, x]}}", "{apiVersion: v1, kind: ConfigMap, data: {a: 'object.spec.a.size() == 3'}}")
	f.Add("kind: &a A\nb: *a\n", celText("variables: [{name: v, expression: object.b}]\nvalidations: [{expression: variables.v == 'A'}]"))
	f.Add("{kind: A}", celText("validations: [{expression: \"'a'.replace('', object.kind + resources[0].kind) == ''\"}]"))
	f.Add("{kind: A}", celText("validations: [{expression: 'resources.all(r, r.x)', messageExpression: '1', severity: ''}]"))
	f.Add("{kind: A}", celText("matchConditions: [{expression: object}]\nvalidations: [{expression: \"%\", target: {labels: {a: b}}}]"))
	f.Add("{kind: A, a: !!binary x}", "[]")

	f.Fuzz(func(t *testing.T, items, config string) {
		objects, err := fn.ParseKubeObjects([]byte(items))
		if err != nil {
			return
		}
		functionConfig, err := fn.ParseKubeObject([]byte(config))
		if err != nil {
			return
		}
		before := fn.KubeObjects(objects).String()
		run := func() fn.Results {
			rl := &fn.ResourceList{Items: objects, FunctionConfig: functionConfig}
			ok, err := validateCEL(t.Context(), rl)
			if err != nil {
				t.Fatal(err)
			}
			if ok != (rl.Results.ExitCode() == 0) {
				t.Errorf("success = %t with the results %s", ok, rl.Results.Error())
			}
			return rl.Results
		}
		first := run()
		if diff := cmp.Diff(first, run()); diff != "" {
			t.Errorf("the second run has other results (-first +second):\n%s", diff)
		}
		if diff := cmp.Diff(before, fn.KubeObjects(objects).String()); diff != "" {
			t.Errorf("items changed (-before +after):\n%s", diff)
		}
	})
}

func celText(rules string) string {
	return "apiVersion: fn.kpt.dev/v1alpha1\nkind: ValidateCEL\n" + rules
}

func TestValidateCELEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	rl := celList(t, "{kind: A}\n---\n{kind: B}", "validations: [{expression: 'lists.range(1000).all(a, a >= 0)'}]")
	cancel()
	if ok, err := validateCEL(ctx, rl); ok || !errors.Is(err, context.Canceled) {
		t.Errorf("validateCEL() = %t, %v, want Canceled", ok, err)
	}
	if len(rl.Results) > 0 {
		t.Errorf("results = %s, want none", rl.Results.Error())
	}
}

// The evaluation of an expression checks the context too.
func TestCELProgramEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rules, errs := compileCEL(celConfig{Validations: []celValidation{{Expression: "lists.range(1000).all(a, a >= 0)"}}})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if _, err := rules.rules[0].test.test(ctx, map[string]any{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want Canceled", err)
	}
}

func celList(tb testing.TB, items, rules string) *fn.ResourceList {
	tb.Helper()
	objects, err := fn.ParseKubeObjects([]byte(items))
	if err != nil {
		tb.Fatal(err)
	}
	config, err := fn.ParseKubeObject([]byte(celText(rules)))
	if err != nil {
		tb.Fatal(err)
	}
	return &fn.ResourceList{Items: objects, FunctionConfig: config}
}

// BenchmarkValidateCEL compiles five expressions and evaluates them for ten resources, as one process per call does.
func BenchmarkValidateCEL(b *testing.B) {
	rl := celList(b, functiontest.Package+"\n---\n"+functiontest.Package, `variables: [{name: labels, expression: 'object.metadata.?labels.orValue({})'}]
validations:
- {expression: size(object.metadata.name) < 64, message: too long}
- {expression: 'variables.labels.all(k, size(k) < 64)'}
- {expression: object.kind != 'Pod' || has(object.spec)}
- {expression: 'resources.exists(r, r.metadata.name == object.metadata.name)'}
`)
	for b.Loop() {
		rl.Results = nil
		if ok, err := validateCEL(b.Context(), rl); !ok || err != nil {
			b.Fatalf("validateCEL() = %t, %v, results %s", ok, err, rl.Results.Error())
		}
	}
}
