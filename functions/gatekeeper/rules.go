// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/storage/inmem"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/util"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
)

// rules are the compiled rules of a ConstraintTemplate. They are compiled and evaluated like in package rego, which is not used
// because it links a compiler for WebAssembly.
type rules struct {
	compiler *ast.Compiler
	// query unifies the template's violations with the variable found.
	query         ast.Body
	queryCompiler ast.QueryCompiler
	data          storage.Store
}

const found = ast.Var("found")

// template has the used fields of a ConstraintTemplate.
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
	Version string   `json:"version"` // Rego version: "v1", or v0 if empty
}

const admission = "admission.k8s.gatekeeper.sh"

// newRules compiles the rules of a template. It also returns the kind of the template's constraints.
func newRules(ctx context.Context, t resource, data map[string]any) (kind string, _ rules, err error) {
	var typed template
	if err := yaml.Unmarshal(t.item.Bytes(), &typed); err != nil {
		return "", rules{}, errors.New(nodes.OneLine(functionconfig.WithoutTypes(err)))
	}
	boundBuiltins()
	kind = typed.Spec.CRD.Spec.Names.Kind
	code, err := typed.rego()
	if err != nil {
		return kind, rules{}, err
	}
	version := ast.RegoV0
	if code.Version == "v1" {
		version = ast.RegoV1
	}
	r := rules{data: inmem.NewFromObject(data)}
	modules := map[string]*ast.Module{}
	options := ast.ParserOptions{RegoVersion: version, Capabilities: harmless(version)}
	var violation string
	for i, text := range append([]string{code.Rego}, code.Libs...) {
		name := fmt.Sprintf("%s/%d.rego", t.item.GetName(), i)
		if modules[name], err = ast.ParseModuleWithOpts(name, text, options); err != nil {
			return kind, rules{}, fmt.Errorf("the Rego of the template cannot be read: %s", nodes.OneLine(err))
		}
		if i == 0 {
			violation = modules[name].Package.Path.String() + ".violation"
		}
	}
	if err := r.compile(ctx, version, modules, violation); err != nil {
		return kind, rules{}, fmt.Errorf("the Rego of the template cannot be compiled: %s", nodes.OneLine(err))
	}
	return kind, r, nil
}

// compile compiles the modules and the query for violations.
func (r *rules) compile(ctx context.Context, version ast.RegoVersion, modules map[string]*ast.Module, violation string) error {
	return storage.Txn(ctx, r.data, storage.TransactionParams{}, func(txn storage.Transaction) error {
		r.compiler = ast.NewCompiler().WithCapabilities(harmless(version)).
			WithDefaultRegoVersion(version).WithPathConflictsCheck(storage.NonEmpty(ctx, r.data, txn))
		if r.compiler.Compile(modules); r.compiler.Failed() {
			return r.compiler.Errors
		}
		query, err := ast.ParseBodyWithOpts(violation+" = "+string(found), ast.ParserOptions{RegoVersion: version, Capabilities: harmless(version)})
		if err != nil {
			return err
		}
		r.queryCompiler = r.compiler.QueryCompiler()
		r.query, err = r.queryCompiler.Compile(query)
		return err
	})
}

// rego returns the template's Rego code.
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
	return source{}, fmt.Errorf("the template has no Rego for the target %s, and this function supports no other language", admission)
}

// harmless returns the Rego capabilities without built-ins that access the environment and those that cannot be limited. JSON
// schemas are excluded, because they can refer to any file.
func harmless(version ast.RegoVersion) *ast.Capabilities {
	capabilities := ast.CapabilitiesForThisVersion(ast.CapabilitiesRegoVersion(version))
	harmful := append([]string{"http.send", "net.lookup_ip_addr", "opa.runtime", "json.match_schema", "json.verify_schema"}, unbounded...)
	capabilities.Builtins = slices.DeleteFunc(capabilities.Builtins, func(b *ast.Builtin) bool { return slices.Contains(harmful, b.Name) })
	capabilities.AllowNet = []string{}
	return capabilities
}

// violations evaluates the rules and returns the messages of violations, in Rego's order of sets.
func (r rules) violations(ctx context.Context, input map[string]any) ([]string, error) {
	var messages []string
	err := r.evaluate(ctx, input, func(value any) error {
		all, _ := value.([]any)
		for _, one := range all {
			violation, _ := one.(map[string]any)
			message, ok := violation["msg"].(string)
			if !ok {
				return errNoMessage
			}
			messages = append(messages, message)
		}
		return nil
	})
	switch {
	case errors.Is(err, errNoMessage):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("the Rego of its template failed: %s", nodes.OneLine(err))
	}
	return messages, nil
}

var errNoMessage = errors.New("the Rego of its template made a violation without msg")

// evaluate calls visit with the violations.
func (r rules) evaluate(ctx context.Context, input any, visit func(value any) error) error {
	if err := util.RoundTrip(&input); err != nil {
		return err
	}
	value, err := ast.InterfaceToValue(input)
	if err != nil {
		return err
	}
	cancel := topdown.NewCancel()
	defer context.AfterFunc(ctx, cancel.Cancel)()
	return storage.Txn(ctx, r.data, storage.TransactionParams{}, func(txn storage.Transaction) error {
		query := topdown.NewQuery(r.query).WithQueryCompiler(r.queryCompiler).WithCompiler(r.compiler).WithStore(r.data).WithTransaction(txn).
			WithInput(ast.NewTerm(value)).WithCancel(cancel)
		return query.Iter(ctx, func(result topdown.QueryResult) error {
			if err := checkWeight(result[found].Value); err != nil {
				return err
			}
			value, err := ast.JSON(result[found].Value)
			if err != nil {
				return err
			}
			return visit(value)
		})
	})
}
