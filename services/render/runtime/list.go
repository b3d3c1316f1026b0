// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package runtime

import (
	"context"
	"errors"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/internal/resourcelist"
	"github.com/krmfn/krmfn/internal/yamlnode"
	evaluationv1 "github.com/krmfn/krmfn/proto/gen/go/protocolbuffers/go/krmfn/evaluation/v1"
	"github.com/krmfn/krmfn/services/evaluation"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// EvaluateList runs a function on a list in memory and changes the list in place. Report and error are as for Evaluate. Items
// end up in the order in which the function prints them. If the function would print neither items nor a functionConfig, Items
// is nil. Afterwards, the items share no nodes.
func (b Builtin) EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error) {
	c, err := b.newCall(image)
	if err != nil {
		return nil, err
	}
	err = c.function.Apply(c.context(ctx), list)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	report := c.report(err)
	var resultsErr error
	if !errors.As(err, new(*function.PanicError)) {
		report.Results, resultsErr = resultsOf(list)
	}
	if failure := c.failed(report, err, resultsErr); failure.Report != nil {
		return failure.Report, nil
	}
	if !c.function.Unshared {
		unshare(list.Items)
	}
	c.function.Arrange(list.Items)
	switch {
	case len(list.Items) > 0:
	case c.function.KeepsList || !list.FunctionConfig.IsEmpty():
		list.Items = fn.KubeObjects{}
	default:
		list.Items = nil
	}
	return report, nil
}

// unshare replaces items with copies that share no nodes.
func unshare(items fn.KubeObjects) {
	_ = parallel.Each(len(items), func(i int) error {
		items[i] = fn.MoveToKubeObject(yaml.NewRNode(yamlnode.Copy(items[i].MoveToResourceNode().YNode())))
		return nil
	})
}

type listEvaluator interface {
	EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error)
}

// EvaluateList tries the runtimes in order, up to the first one that cannot evaluate lists in memory. Runtimes after that one
// must not be tried before it.
func (m Multi) EvaluateList(ctx context.Context, image string, list *fn.ResourceList) (*evaluationv1.Evaluation, error) {
	for _, e := range m {
		l, ok := e.(listEvaluator)
		if !ok {
			break
		}
		report, err := l.EvaluateList(ctx, image, list)
		if !errors.As(err, new(*evaluation.NotFoundError)) {
			return report, err
		}
	}
	return nil, &evaluation.NotFoundError{Image: image}
}

// resultsOf returns the results as if they were parsed from the printed list. Most results have only text fields, which
// printing and parsing would merely trim, at half the cost of a render. TestResultsOfMatchesPrintedList compares the two.
func resultsOf(list *fn.ResourceList) ([]*evaluationv1.Result, error) {
	var results []*evaluationv1.Result
	for _, r := range list.Results {
		result, ok := textResult(r)
		if !ok {
			output, err := (&fn.ResourceList{Results: list.Results}).ToYAML()
			if err != nil {
				return nil, err
			}
			return resourcelist.Results(output)
		}
		results = append(results, result)
	}
	return results, nil
}

// textResult converts a result. ok is false if fields are not valid text, so that the result must be printed and parsed.
func textResult(r *fn.Result) (result *evaluationv1.Result, ok bool) {
	if r == nil {
		return nil, false
	}
	ok = true
	text := func(s string) string {
		ok = ok && utf8.ValidString(s)
		return strings.TrimSpace(s)
	}
	value := func(v any) string {
		if v == nil {
			return ""
		}
		s, isText := v.(string)
		ok = ok && isText
		return text(s)
	}
	result = &evaluationv1.Result{Message: text(r.Message), Severity: text(string(r.Severity))}
	if ref := r.ResourceRef; ref != nil {
		result.ResourceRef = &evaluationv1.ResourceRef{
			ApiVersion: text(ref.APIVersion), Kind: text(ref.Kind), Name: text(ref.Name), Namespace: text(ref.Namespace),
		}
	}
	if f := r.Field; f != nil {
		result.Field = &evaluationv1.Field{Path: text(f.Path), CurrentValue: value(f.CurrentValue), ProposedValue: value(f.ProposedValue)}
	}
	if f := r.File; f != nil {
		ok = ok && f.Index >= 0 && f.Index <= math.MaxInt32
		result.File = &evaluationv1.File{Path: text(f.Path), Index: int32(f.Index)} //nolint:gosec // range checked above
	}
	return result, ok && len(r.Tags) == 0
}
