// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package gatekeeper implements the function gatekeeper.
package gatekeeper

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"github.com/open-policy-agent/opa/v1/util"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/functions/internal/validator"
	"github.com/krmfn/krmfn/internal/heap"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function gatekeeper.
var Function = function.Function{
	Name:    "gatekeeper",
	Version: "v0.2.1",
	Summary: "validates resources against the Gatekeeper constraint templates and constraints among them",
	Traits:  function.Traits{Worker: true},
	Config: "none: the policies are ConstraintTemplates of templates.gatekeeper.sh, in Rego, and constraints of " +
		"constraints.gatekeeper.sh among the resources",
	Heavy:     true,
	Process:   gatekeeper,
	KeepsList: true,
	Unshared:  true,
}

// maxMemory is the number of bytes by which the process may grow during evaluation. It is needed because Rego has no memory
// limit.
const maxMemory = 1 << 30

const (
	templateGroup   = "templates.gatekeeper.sh/"
	constraintGroup = "constraints.gatekeeper.sh/"
)

// resource is an item with its content as policies see it.
type resource struct {
	item    *fn.KubeObject
	content map[string]any
}

// gatekeeper reviews every resource with every constraint that matches it, except policies and local configuration. It fails if
// a constraint with the action deny is violated or a policy is invalid.
func gatekeeper(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	return evaluate(ctx, rl, maxMemory)
}

// evaluate is gatekeeper with a limit in bytes for the growth of the process.
func evaluate(ctx context.Context, rl *fn.ResourceList, memory uint64) (bool, error) {
	watched, stop := heap.WatchGrowth(ctx, memory, fmt.Errorf("the policies use more than %d MiB of memory, which is the limit", memory>>20))
	defer stop()
	ok, err := review(watched, rl)
	if err != nil && ctx.Err() == nil && watched.Err() != nil {
		rl.LogResult(context.Cause(watched))
		return false, nil
	}
	return ok, err
}

func review(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	var templates, constraints, reviewed []resource
	for _, item := range rl.Items {
		r := resource{item: item}
		text, err := yaml.YAMLToJSON(item.Bytes())
		if err == nil {
			err = util.UnmarshalJSON(text, &r.content)
		}
		version := item.GetAPIVersion()
		switch {
		case err != nil:
			rl.LogResult(fn.ErrorConfigObjectResult(fmt.Errorf("the resource cannot be read: %w", err), item))
			return false, nil
		case strings.HasPrefix(version, templateGroup) && item.GetKind() == "ConstraintTemplate":
			templates = append(templates, r)
		case strings.HasPrefix(version, constraintGroup):
			constraints = append(constraints, r)
		case !validator.StaysLocal(version, item.GetAnnotation(fn.KptLocalConfig)):
			reviewed = append(reviewed, r)
		}
	}
	policies, ok := newPolicies(ctx, rl, templates, constraints, reviewed)
	if err := ctx.Err(); err != nil || !ok {
		return false, err
	}
	for _, r := range reviewed {
		for _, p := range policies {
			violations, err := p.review(ctx, r)
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			if err != nil {
				rl.LogResult(fn.ErrorConfigObjectResult(err, p.constraint.item))
				ok = false
				continue
			}
			ok = ok && (len(violations) == 0 || p.severity != fn.Error)
			for _, message := range violations {
				rl.LogResult(validator.SubjectOf(r.item).Result(p.severity, "", message+"\nviolatedConstraint: "+p.constraint.item.GetName()))
			}
		}
	}
	return ok, nil
}

// newPolicies creates a policy for each constraint. An invalid template or constraint becomes an error result and makes ok
// false.
func newPolicies(ctx context.Context, rl *fn.ResourceList, templates, constraints, reviewed []resource) (policies []policy, ok bool) {
	ok = true
	failed := func(item *fn.KubeObject, err error) {
		rl.LogResult(fn.ErrorConfigObjectResult(err, item))
		ok = false
	}
	data := inventory(reviewed)
	byKind := map[string]rules{}
	for _, t := range templates {
		kind, r, err := newRules(ctx, t, data)
		if err != nil {
			failed(t.item, err)
		}
		// Remember invalid templates, so that their constraints are not reported as lacking a template.
		byKind[kind] = r
	}
	for _, c := range constraints {
		r, known := byKind[c.item.GetKind()]
		p, err := newPolicy(c, r, namespacesOf(reviewed))
		if !known {
			kinds := make([]string, 0, len(byKind))
			for kind := range byKind {
				kinds = append(kinds, kind)
			}
			slices.Sort(kinds)
			err = fmt.Errorf("no ConstraintTemplate is of kind %s: there are templates of %q", c.item.GetKind(), kinds)
		}
		if err != nil {
			failed(c.item, err)
		}
		policies = append(policies, p)
	}
	return policies, ok
}

// inventory returns the data about other resources that policies can use, in Gatekeeper's format.
func inventory(reviewed []resource) map[string]any {
	cluster, namespaced := map[string]any{}, map[string]any{}
	for _, r := range reviewed {
		below := cluster
		if namespace := r.item.GetNamespace(); namespace != "" {
			below = child(namespaced, namespace)
		}
		child(child(below, r.item.GetAPIVersion()), r.item.GetKind())[r.item.GetName()] = r.content
	}
	return map[string]any{"inventory": map[string]any{"cluster": cluster, "namespace": namespaced}}
}

func child(parent map[string]any, key string) map[string]any {
	below, ok := parent[key].(map[string]any)
	if !ok {
		below = map[string]any{}
		parent[key] = below
	}
	return below
}

// namespacesOf returns the labels of the Namespace resources, by name.
func namespacesOf(reviewed []resource) map[string]map[string]string {
	namespaces := map[string]map[string]string{}
	for _, r := range reviewed {
		if r.item.GetAPIVersion() == "v1" && r.item.GetKind() == "Namespace" {
			namespaces[r.item.GetName()] = r.item.GetLabels()
		}
	}
	return namespaces
}
