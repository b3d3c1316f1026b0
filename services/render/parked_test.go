// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"context"
	"strings"
	"testing"

	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/internal/resource"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/render"
	"github.com/krmfn/krmfn/services/render/packages"
)

// inPlace evaluates functions on lists in memory: spoil renames all items, fail renames them and fails, drop removes the item
// "config", and want fails without a functionConfig.
type inPlace struct{ evaluation.Evaluator }

func (inPlace) EvaluateList(_ context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error) {
	report := &evaluationv1.Evaluation{}
	failed := &evaluationv1.Evaluation{ExitCode: 1, Failure: &evaluationv1.Failure{Message: "no luck"}}
	name, _, _ := strings.Cut(image, ":")
	switch name {
	case "want":
		if list.FunctionConfig.GetName() != "config" {
			return failed, nil
		}
	case "drop":
		var kept fn.KubeObjects
		for _, o := range list.Items {
			if o.GetName() != "config" {
				kept = append(kept, o)
			}
		}
		list.Items = kept
	default:
		for _, o := range list.Items {
			if err := o.SetName("spoilt"); err != nil {
				return nil, err
			}
		}
		if name == "fail" {
			return failed, nil
		}
	}
	return report, nil
}

// A failed function or a validator does not change the resources, whatever it does to its input. If a function deletes a
// functionConfig, later functions still get the previous one.
func TestInputIsKept(t *testing.T) {
	t.Parallel()
	const withConfig = "pipeline:\n  mutators:\n    - image: drop\n    - image: want\n      configPath: config.yaml\n"
	for name, tc := range map[string]struct {
		pipeline string
		fails    bool
		want     string
	}{
		"failed":        {mutators("fail"), true, "app a config"},
		"validator":     {"pipeline:\n  validators:\n    - image: spoil\n", false, "app a config"},
		"mutator":       {mutators("spoil"), false, "spoilt spoilt spoilt"},
		"deletedConfig": {withConfig, false, "app a"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, err := packages.NewMemory(map[string]string{"Kptfile": kpt(tc.pipeline), "a.yaml": cm("a"), "config.yaml": cm("config")})
			if err != nil {
				t.Fatal(err)
			}
			result, err := render.Package(t.Context(), source, render.Options{Evaluator: inPlace{evaluation.Chain()}})
			if (err != nil) != tc.fails {
				t.Fatal(err)
			}
			var names []string
			for _, r := range result.Resources {
				names = append(names, resource.Name(r))
			}
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("resources = %s, want %s", got, tc.want)
			}
		})
	}
}
