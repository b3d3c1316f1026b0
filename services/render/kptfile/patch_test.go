// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/kptfile"
)

const patched = `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: a # mine
  labels:
    app: a # the app
    tier: front
info:
  readinessGates:
    - conditionType: Ready # wait
    - conditionType: Old
status:
  conditions:
    - type: Rendered
      status: "True" # fine
      reason: RenderSuccess
    - type: Old
      status: "False"
`

func TestPatch(t *testing.T) {
	t.Parallel()
	p := kptfile.Patch{
		Labels:         map[string]string{"app": "a", "new": "true"},
		Annotations:    map[string]string{"note": "x: y"},
		ReadinessGates: []kptfilev1.ReadinessGate{{ConditionType: "New"}, {ConditionType: "Ready"}},
		Conditions: []kptfilev1.Condition{
			{Type: "Rendered", Status: kptfilev1.ConditionTrue, Reason: "RenderSuccess"},
			{Type: "Ready", Status: kptfilev1.ConditionFalse, Message: "not yet"},
		},
	}
	empty := kptfile.Patch{
		Labels: map[string]string{}, Annotations: map[string]string{}, ReadinessGates: []kptfilev1.ReadinessGate{}, Conditions: []kptfilev1.Condition{},
	}
	for _, tc := range []struct {
		name  string
		apply func(*yaml.RNode) error
		want  string
	}{
		{"merge", p.Merge, `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: a # mine
  labels:
    app: a # the app
    tier: front
    new: "true"
  annotations:
    note: 'x: y'
info:
  readinessGates:
    - conditionType: Ready # wait
    - conditionType: Old
    - conditionType: New
status:
  conditions:
    - type: Rendered
      status: "True" # fine
      reason: RenderSuccess
    - type: Old
      status: "False"
    - type: Ready
      status: "False"
      message: not yet
`},
		{"replace", p.Replace, `apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: a # mine
  labels:
    app: a # the app
    new: "true"
  annotations:
    note: 'x: y'
info:
  readinessGates:
    - conditionType: Ready # wait
    - conditionType: New
status:
  conditions:
    - type: Rendered
      status: "True" # fine
      reason: RenderSuccess
    - type: Ready
      status: "False"
      message: not yet
`},
		{"merge nothing", kptfile.Patch{}.Merge, patched},
		{"replace nothing", kptfile.Patch{}.Replace, patched},
		{"merge empty fields", empty.Merge, patched},
		{"replace with empty fields", empty.Replace, "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: a # mine\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			kf := yaml.MustParse(patched)
			for range 2 {
				if err := tc.apply(kf); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, wide(t, kf)); diff != "" {
					t.Fatalf("Kptfile (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func wide(t *testing.T, kf *yaml.RNode) string {
	t.Helper()
	text, err := yaml.MarshalWithOptions(kf.YNode(), &yaml.EncoderOptions{SeqIndent: yaml.WideSequenceStyle})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A field of the wrong type is an error, not a panic.
func TestPatchErrors(t *testing.T) {
	t.Parallel()
	p := kptfile.Patch{
		Labels: map[string]string{"a": "b"}, ReadinessGates: []kptfilev1.ReadinessGate{{ConditionType: "a"}},
		Conditions: []kptfilev1.Condition{{Type: "a"}},
	}
	for _, content := range []string{"metadata: {labels: [a]}", "metadata: text", "info: [a]", "status: {conditions: text}"} {
		if err := p.Replace(yaml.MustParse(content)); err == nil {
			t.Errorf("Replace(%s) = nil, want an error", content)
		}
		if err := p.Merge(yaml.MustParse(content)); err == nil {
			t.Errorf("Merge(%s) = nil, want an error", content)
		}
	}
}
