// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/fn/framework"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlprint"
)

// A status with printed results prints the same as one encoded at once by the encoder.
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
			n, err := statusNode(status, printedResults)
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
				t.Fatalf("decoding: %v; text:\n%s", err, text)
			}
			if diff := cmp.Diff(status, read.Status.RenderStatus); diff != "" {
				t.Errorf("decoded status (-want +got)\n%s\n%s", diff, text)
			}
			whole, err := statusNode(status, resultNodes)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(inKptfile(t, whole), text); diff != "" {
				t.Errorf("with results as nodes (-want +got)\n%s", diff)
			}
			encoded, err := yaml.MarshalWithOptions(map[string]any{"kind": "Kptfile", "status": map[string]any{"renderStatus": status}}, &yaml.EncoderOptions{SeqIndent: yaml.WideSequenceStyle})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(encoded), text); diff != "" {
				t.Errorf("with printed results (-want +got)\n%s", diff)
			}
		})
	}
}

// Results are printed byte for byte as the encoder prints them.
func TestResultsAreEncoded(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.StringOfN(rapid.RuneFrom([]rune("ab1:-#' \"\\né\n\t.,[]{}")), 0, 8, -1),
		rapid.SampledFrom([]string{"", "yes", "no", "on", "N", "true", "null", "~", "1:30", "-12:5:59.5", "1_0:1", "0x1F", "1.5", "2024-01-01", "<<", "a b c", "set 5 labels in total"}))
	item := rapid.Custom(func(t *rapid.T) (r fnresultv1.ResultItem) {
		r.Message, r.Severity = text.Draw(t, "message"), framework.Severity(text.Draw(t, "severity"))
		if rapid.Bool().Draw(t, "field") {
			r.Field = &fnresultv1.Field{Path: text.Draw(t, "path"), CurrentValue: text.Draw(t, "current"), ProposedValue: text.Draw(t, "proposed")}
		}
		if rapid.Bool().Draw(t, "file") {
			r.File = &framework.File{Path: text.Draw(t, "path"), Index: rapid.IntRange(-1, 1).Draw(t, "index")}
		}
		if rapid.Bool().Draw(t, "ref") {
			r.ResourceRef = &yaml.ResourceIdentifier{
				TypeMeta: yaml.TypeMeta{APIVersion: text.Draw(t, "apiVersion"), Kind: text.Draw(t, "kind")},
				NameMeta: yaml.NameMeta{Name: text.Draw(t, "name"), Namespace: text.Draw(t, "namespace")},
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "tagged") == 0 {
			r.Tags = map[string]string{"a": text.Draw(t, "tag")}
		}
		return r
	})
	rapid.Check(t, func(t *rapid.T) {
		results := rapid.SliceOfN(item, 1, 3).Draw(t, "results")
		node, err := yamlprint.Items(results, resultNode)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		encoder := yaml.NewEncoder(&want)
		encoder.DefaultSeqIndent()
		if err := encoder.Encode(results); err != nil {
			t.Fatal(err)
		}
		var read []fnresultv1.ResultItem
		if yaml.Unmarshal(want.Bytes(), &read) != nil {
			t.Skip("the encoder's output cannot be parsed")
		}
		if diff := cmp.Diff(want.String(), node.Content[0].Value); diff != "" {
			t.Errorf("(-encoder +ours)\n%s", diff)
		}
	})
}

// inKptfile prints a status as part of a Kptfile.
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
