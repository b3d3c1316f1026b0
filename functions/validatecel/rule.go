// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package validatecel

import (
	"context"
	"errors"
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"github.com/kptdev/krm-functions-sdk/go/fn"

	"github.com/krmfn/krmfn/functions/internal/validator"
)

// maxCELMessage is the most characters that an expression may make a message of, as in Kubernetes.
const maxCELMessage = 5 << 10

// say words what a resource lacks.
func (r *celRule) say(ctx context.Context, input map[string]any) string {
	if r.message != nil {
		value, err := r.message.eval(ctx, input)
		text, ok := value.(types.String)
		message := strings.TrimSpace(string(text))
		if err == nil && ok && message != "" && !strings.Contains(message, "\n") && len(message) <= maxCELMessage {
			return message
		}
	}
	if r.Message != "" {
		return r.Message
	}
	return r.place + ": failed expression: " + strings.Join(strings.Fields(r.Expression), " ")
}

func (p celProgram) eval(ctx context.Context, input map[string]any) (ref.Val, error) {
	value, _, err := p.program.ContextEval(ctx, input)
	return value, err
}

func (p celProgram) test(ctx context.Context, input map[string]any) (bool, error) {
	value, err := p.eval(ctx, input)
	if err != nil {
		return false, err
	}
	ok, isBool := value.(types.Bool)
	if !isBool {
		return false, errors.New("it is of type " + value.Type().TypeName() + ": want bool")
	}
	return bool(ok), nil
}

// selects tells whether a rule is about a resource.
func (t celTarget) selects(content map[string]any) bool {
	apiVersion := validator.Text(content, "apiVersion")
	if t.Kind == "" && validator.StaysLocal(apiVersion, validator.Text(content, "metadata", "annotations", fn.KptLocalConfig)) {
		return false
	}
	for label, value := range t.Labels {
		if validator.Text(content, "metadata", "labels", label) != value {
			return false
		}
	}
	is := func(want, got string) bool { return want == "" || want == got }
	return is(t.APIVersion, apiVersion) && is(t.Kind, validator.Text(content, "kind")) &&
		is(t.Name, validator.Text(content, "metadata", "name")) && is(t.Namespace, validator.Text(content, "metadata", "namespace"))
}
