// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
)

// rules are those of a ConstraintTemplate, ready to be evaluated.
type rules struct{ query rego.PreparedEvalQuery }

// template is what matters of a ConstraintTemplate.
type template struct {
	Spec struct {
		CRD struct {
			Spec struct {
				Names struct {
					Kind string `json:"kind"`
				} `json:"names"`
			} `json:"spec"`
		} `json:"crd"`
		Targets []struct {
			source
			Target string `json:"target"`
			Code   []struct {
				Engine string `json:"engine"`
				Source source `json:"source"`
			} `json:"code"`
		} `json:"targets"`
	} `json:"spec"`
}

type source struct {
	Rego    string   `json:"rego"`
	Libs    []string `json:"libs"`
	Version string   `json:"version"` // of Rego: v0 if empty, or v1
}

const admission = "admission.k8s.gatekeeper.sh"

// newRules compiles the rules of a template, and returns the kind of its constraints.
func newRules(ctx context.Context, t resource, data map[string]any) (kind string, _ rules, err error) {
	var typed template
	if err := yaml.Unmarshal(t.item.Bytes(), &typed); err != nil {
		return "", rules{}, errors.New(nodes.OneLine(functionconfig.WithoutTypes(err)))
	}
	kind = typed.Spec.CRD.Spec.Names.Kind
	code, err := typed.rego()
	if err != nil {
		return kind, rules{}, err
	}
	version := ast.RegoV0
	if code.Version == "v1" {
		version = ast.RegoV1
	}
	options := []func(*rego.Rego){rego.SetRegoVersion(version), rego.Capabilities(harmless(version)), rego.Store(inmem.NewFromObject(data))}
	for i, text := range append([]string{code.Rego}, code.Libs...) {
		module, err := ast.ParseModuleWithOpts(fmt.Sprintf("%s/%d.rego", t.item.GetName(), i), text, ast.ParserOptions{
			RegoVersion: version, Capabilities: harmless(version),
		})
		if err != nil {
			return kind, rules{}, fmt.Errorf("the Rego of the template cannot be read: %s", nodes.OneLine(err))
		}
		if i == 0 {
			options = append(options, rego.Query(module.Package.Path.String()+".violation"))
		}
		options = append(options, rego.ParsedModule(module))
	}
	query, err := rego.New(options...).PrepareForEval(ctx)
	if err != nil {
		text := strings.TrimPrefix(nodes.OneLine(err), "bundle activation failed: ") // there is none
		return kind, rules{}, fmt.Errorf("the Rego of the template cannot be compiled: %s", text)
	}
	return kind, rules{query}, nil
}

// rego returns the Rego of a template.
func (t template) rego() (source, error) {
	if t.Spec.CRD.Spec.Names.Kind == "" {
		return source{}, errors.New("the template has no spec.crd.spec.names.kind")
	}
	for _, target := range t.Spec.Targets {
		if target.Target != admission {
			continue
		}
		for _, code := range target.Code {
			if code.Engine == "Rego" {
				return code.Source, nil
			}
		}
		if target.Rego != "" {
			return target.source, nil
		}
	}
	return source{}, fmt.Errorf("the template has no Rego for the target %s, which is the only language that this function has", admission)
}

// harmless are the capabilities of Rego without what reaches outside of it.
func harmless(version ast.RegoVersion) *ast.Capabilities {
	capabilities := ast.CapabilitiesForThisVersion(ast.CapabilitiesRegoVersion(version))
	reach := []string{"http.send", "net.lookup_ip_addr", "opa.runtime"}
	capabilities.Builtins = slices.DeleteFunc(capabilities.Builtins, func(b *ast.Builtin) bool { return slices.Contains(reach, b.Name) })
	capabilities.AllowNet = []string{}
	return capabilities
}

// violations evaluates the rules, and returns the messages of what they object to, sorted as Rego sorts sets.
func (r rules) violations(ctx context.Context, input map[string]any) ([]string, error) {
	results, err := r.query.Eval(ctx, rego.EvalInput(input))
	if err != nil {
		return nil, fmt.Errorf("the Rego of its template failed: %s", nodes.OneLine(err))
	}
	var messages []string
	for _, result := range results {
		for _, expression := range result.Expressions {
			found, _ := expression.Value.([]any)
			for _, one := range found {
				violation, _ := one.(map[string]any)
				message, ok := violation["msg"].(string)
				if !ok {
					return nil, errors.New("the Rego of its template made a violation without msg")
				}
				messages = append(messages, message)
			}
		}
	}
	return messages, nil
}
