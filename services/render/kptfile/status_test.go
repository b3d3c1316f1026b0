// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package kptfile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	fnresultv1 "github.com/kptdev/kpt/api/fnresult/v1"
	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlprint"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// SetRendered keeps any text that a function writes to its standard error or reports as a message.
func TestSetRenderedKeepsTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"\tat a\n\tat b\n", "\tat a\n\tat b", "\n\tat a\n", " \tat a\n\n\tat b\n", "panic\n\tat b\n", "\t\n", "a\n\t", "\ta\n# b\n", "#\n\t", "\r\na\n", "\u0085a\nb", "\ufeffa\nb", "\x1b[31mred\n\tb", "\xff\n",
	} {
		keepsText(t, text)
	}
	rapid.Check(t, func(t *rapid.T) {
		keepsText(t, rapid.StringOfN(rapid.RuneFrom([]rune("a \t\n\r#:-'\"\\>|é\u2028")), 0, 10, -1).Draw(t, "text"))
	})
}

func keepsText(t rapid.TB, text string) {
	t.Helper()
	want := &kptfilev1.RenderStatus{
		MutationSteps: []kptfilev1.PipelineStepResult{{Image: "a", Stderr: text, Results: []fnresultv1.ResultItem{{Message: "x" + text}}}},
		ErrorSummary:  text,
	}
	condition := kptfilev1.Condition{Type: "Rendered", Status: "False", Message: text}
	for _, before := range []string{"kind: Kptfile\n", "{kind: Kptfile}\n"} {
		kf := yaml.MustParse(before)
		if err := kptfile.SetRendered(kf, condition, want); err != nil {
			t.Errorf("SetRendered(%q) = %v", text, err)
			continue
		}
		printed, err := yamlprint.Print(kf.Document(), yaml.WideSequenceStyle)
		if err != nil {
			t.Fatal(err)
		}
		var got kptfilev1.KptFile
		if err := yaml.Unmarshal(printed, &got); err != nil || got.Status == nil {
			t.Errorf("decoding the Kptfile with %q: %v\n%s", text, err, printed)
			continue
		}
		wanted := &kptfilev1.Status{Conditions: []kptfilev1.Condition{condition}, RenderStatus: want}
		if diff := cmp.Diff(wanted, got.Status); diff != "" {
			t.Errorf("%q in %s (-want +got):\n%s%s", text, strings.TrimSpace(before), diff, printed)
		}
	}
}
