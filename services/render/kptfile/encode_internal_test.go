// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/yamlprint"
)

// A status is encoded in parts as it would be as a whole.
func TestEncodedStatus(t *testing.T) {
	t.Parallel()
	texts := []string{"  begins with spaces\n\n\nand goes on\n", "ends in lines\n\n\n", "a: b # c", "- a", "yes", "tab\t", strings.Repeat("long ", 60), "\n", "é\u2028x"}
	results := func(n int) []fnresultv1.ResultItem {
		items := make([]fnresultv1.ResultItem, n)
		for i := range items {
			items[i].Message = fmt.Sprintf("result %d:\nof many", i)
			if i%2 == 0 {
				items[i].Severity, items[i].Tags = "error", map[string]string{"on": "yes"}
			}
			if i%3 == 0 {
				items[i].Message = texts[i%len(texts)]
				items[i].Field = &fnresultv1.Field{Path: "spec.list", CurrentValue: "1.50", ProposedValue: "a: b # c"}
			}
		}
		return items
	}
	for name, status := range map[string]*kptfilev1.RenderStatus{
		"nothing":    {},
		"a step":     {MutationSteps: []kptfilev1.PipelineStepResult{{Image: "set-labels:v1"}}},
		"all fields": {MutationSteps: []kptfilev1.PipelineStepResult{{Name: "n", Image: "i", ExecutionError: "e", Stderr: " a\nb\n", ExitCode: 3}}, ErrorSummary: "s: t"},
		"few":        {ValidationSteps: []kptfilev1.PipelineStepResult{{ExecPath: "./v", Results: results(1), ErrorResults: results(3)}}},
		"many": {
			MutationSteps: []kptfilev1.PipelineStepResult{{Image: "a", Results: results(101)}, {Image: "b"}, {Image: "c", ErrorResults: results(50)}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n, err := encodedStatus(status)
			if err != nil {
				t.Fatal(err)
			}
			text := inKptfile(t, n)
			var read struct {
				Status struct {
					RenderStatus *kptfilev1.RenderStatus `yaml:"renderStatus"`
				} `yaml:"status"`
			}
			if err := yaml.Unmarshal([]byte(text), &read); err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if diff := cmp.Diff(status, read.Status.RenderStatus); diff != "" {
				t.Errorf("read again (-want +got)\n%s\n%s", diff, text)
			}
			whole, err := encoded(status)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(inKptfile(t, whole), text); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// inKptfile prints a status as a Kptfile is printed.
func inKptfile(t *testing.T, status *yaml.Node) string {
	t.Helper()
	kf := yaml.MustParse("kind: Kptfile\nstatus: {}\n")
	if err := kf.PipeE(yaml.Lookup("status"), yaml.SetField("renderStatus", yaml.NewRNode(status))); err != nil {
		t.Fatal(err)
	}
	kf.Field("status").Value.YNode().Style = 0
	text, err := yamlprint.Print(kf.YNode(), yaml.WideSequenceStyle)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
