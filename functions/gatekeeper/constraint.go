// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
)

// policy is a constraint with its template's rules.
type policy struct {
	constraint      resource
	rules           rules
	severity        fn.Severity
	match           match
	labels          labels.Selector
	namespaceLabels labels.Selector // nil selects all namespaces
	namespaces      map[string]map[string]string
	parameters      any
}

// match selects the resources of a constraint. Empty fields select all.
type match struct {
	Kinds []struct {
		APIGroups []string `json:"apiGroups"`
		Kinds     []string `json:"kinds"`
	} `json:"kinds"`
	Scope              string                `json:"scope"`
	Name               string                `json:"name"`
	Namespaces         []string              `json:"namespaces"`
	ExcludedNamespaces []string              `json:"excludedNamespaces"`
	LabelSelector      *metav1.LabelSelector `json:"labelSelector"`
	NamespaceSelector  *metav1.LabelSelector `json:"namespaceSelector"`
}

// severities maps enforcement actions to the severities of results.
var severities = map[string]fn.Severity{"": fn.Error, "deny": fn.Error, "warn": fn.Warning, "dryrun": fn.Info}

func newPolicy(constraint resource, r rules, namespaces map[string]map[string]string) (policy, error) {
	p := policy{constraint: constraint, rules: r, namespaces: namespaces, labels: labels.Everything(), parameters: map[string]any{}}
	var typed struct {
		Spec struct {
			EnforcementAction string `json:"enforcementAction"`
			Match             match  `json:"match"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(constraint.item.Bytes(), &typed); err != nil {
		return p, errors.New(nodes.OneLine(functionconfig.WithoutTypes(err)))
	}
	if spec, ok := constraint.content["spec"].(map[string]any); ok && spec["parameters"] != nil {
		p.parameters = spec["parameters"]
	}
	var ok bool
	if p.severity, ok = severities[typed.Spec.EnforcementAction]; !ok {
		return p, fmt.Errorf("spec.enforcementAction is %q: want deny, warn or dryrun", typed.Spec.EnforcementAction)
	}
	p.match = typed.Spec.Match
	var err error
	if p.match.LabelSelector != nil {
		if p.labels, err = metav1.LabelSelectorAsSelector(p.match.LabelSelector); err != nil {
			return p, fmt.Errorf("spec.match.labelSelector: %w", err)
		}
	}
	if p.match.NamespaceSelector != nil {
		if p.namespaceLabels, err = metav1.LabelSelectorAsSelector(p.match.NamespaceSelector); err != nil {
			return p, fmt.Errorf("spec.match.namespaceSelector: %w", err)
		}
	}
	return p, nil
}

// review returns the violations of the policy by a resource.
func (p policy) review(ctx context.Context, r resource) ([]string, error) {
	group, version, found := strings.Cut(r.item.GetAPIVersion(), "/")
	if !found {
		group, version = "", group
	}
	if !p.matches(r.item, group) {
		return nil, nil
	}
	review := map[string]any{
		"kind": map[string]any{"group": group, "version": version, "kind": r.item.GetKind()},
		"name": r.item.GetName(), "object": r.content,
	}
	if namespace := r.item.GetNamespace(); namespace != "" {
		review["namespace"] = namespace
	}
	return p.rules.violations(ctx, map[string]any{"review": review, "parameters": p.parameters})
}

// matches reports whether the policy selects a resource. A resource without a namespace counts as cluster-scoped.
func (p policy) matches(item *fn.KubeObject, group string) bool {
	namespace := item.GetNamespace()
	switch {
	case !p.matchesKind(group, item.GetKind()), p.match.Name != "" && !like(p.match.Name, item.GetName()),
		p.match.Scope == "Namespaced" && namespace == "", p.match.Scope == "Cluster" && namespace != "",
		!p.labels.Matches(labels.Set(item.GetLabels())):
		return false
	}
	if group == "" && item.GetKind() == "Namespace" {
		namespace = item.GetName()
	}
	if namespace == "" {
		return true
	}
	in := func(pattern string) bool { return like(pattern, namespace) }
	if len(p.match.Namespaces) > 0 && !slices.ContainsFunc(p.match.Namespaces, in) || slices.ContainsFunc(p.match.ExcludedNamespaces, in) {
		return false
	}
	of, known := p.namespaces[namespace]
	return p.namespaceLabels == nil || known && p.namespaceLabels.Matches(labels.Set(of))
}

func (p policy) matchesKind(group, kind string) bool {
	if len(p.match.Kinds) == 0 {
		return true
	}
	has := func(names []string, name string) bool {
		return len(names) == 0 || slices.Contains(names, name) || slices.Contains(names, "*")
	}
	for _, one := range p.match.Kinds {
		if has(one.APIGroups, group) && has(one.Kinds, kind) {
			return true
		}
	}
	return false
}

// like reports whether a name matches a pattern, which may have a leading and a trailing asterisk.
func like(pattern, name string) bool {
	begin, atStart := strings.CutSuffix(pattern, "*")
	middle, atEnd := strings.CutPrefix(begin, "*")
	switch {
	case atStart && atEnd:
		return strings.Contains(name, middle)
	case atStart:
		return strings.HasPrefix(name, begin)
	case atEnd:
		return strings.HasSuffix(name, middle)
	default:
		return name == pattern
	}
}
