// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setnamespace is the function set-namespace.
package setnamespace

import (
	"context"

	transformer "github.com/kptdev/krm-functions-catalog/functions/go/set-namespace/transformer"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/evaluation/traits"
)

// Function is set-namespace.
var Function = function.Function{
	Name:    "set-namespace",
	Version: "v0.4.5",
	Summary: "moves resources, and what refers to them, to another namespace",
	Traits:  traits.Traits{Worker: true, Deterministic: true},
	Config: "v1 ConfigMap, data.namespace: the namespace; data.namespaceMatcher: the one to be replaced, default any\n" +
		"v1 ConfigMap named kptfile.kpt.dev (the package context), data.name: the namespace\n" +
		"fn.kpt.dev/v1alpha1 SetNamespace, namespace and namespaceMatcher: the same",
	Process:  setNamespace,
	Unshared: true,
}

// setNamespace is the catalog's own implementation. Around it: what it ignores or panics on is an error result and a
// failure, and it does not make up a namespace field that a CustomResourceDefinition or an APIService does not have.
func setNamespace(_ context.Context, rl *fn.ResourceList) (bool, error) {
	var config transformer.SetNamespace
	if err := config.Config(rl.FunctionConfig); err != nil {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		return false, nil
	}
	items := rl.Items.WhereNot(fn.IsLocalConfig)
	if problems := namespaceProblems(items); len(problems) > 0 {
		rl.LogResult(problems)
		return false, nil
	}

	var matchers []string
	if config.NamespaceMatcher != "" {
		matchers = []string{config.NamespaceMatcher}
	}
	dependencies := transformer.MapGKNNBeforeChange(items)
	results, count, old := transformer.WalkAndReplace(items.WhereNot(lacksNamespaceField), config.NewNamespace, matchers...)
	results = transformer.AddSummaryResult(results, count, config.NewNamespace, old...)
	count, old = transformer.UpdateAnnotation(items, dependencies, config.NewNamespace, matchers...)
	results = transformer.AddAnnotationResult(results, count, config.NewNamespace, old...)
	rl.LogResult(results)
	if nodes.String(config.NewNamespace).Style != 0 {
		for _, item := range items {
			quoteNamespaces(function.NodeOf(item), config.NewNamespace, isNamespace(item))
		}
	}
	return true, nil
}

// quoteNamespaces quotes a namespace such as "no", which the SDK prints plain, and which Kubernetes then takes for a
// boolean. named tells that the name of the resource is one as well.
func quoteNamespaces(node *yaml.Node, namespace string, named bool) {
	for i, value := range node.Content {
		quoteNamespaces(value, namespace, named && i%2 == 1 && node.Content[i-1].Value == "metadata")
		if node.Kind != yaml.MappingNode || i%2 == 0 || value.Value != namespace || value.Style != 0 {
			continue
		}
		if key := node.Content[i-1].Value; key == "namespace" || named && key == "name" {
			value.Style = yaml.DoubleQuotedStyle
		}
	}
}

// namespaceProblems finds what the catalog's implementation would panic on or silently leave as it is.
func namespaceProblems(items fn.KubeObjects) fn.Results {
	var problems fn.Results
	for _, item := range items {
		if _, _, err := item.NestedSubObject("metadata"); err != nil {
			problems.Errorf("%s: metadata is not a map", item.ShortString())
			continue
		}
		if _, err := item.GetOriginID(); err != nil {
			problems.ErrorE(err)
		}
		if path := namespaceField(item); path != nil {
			if _, _, err := item.NestedString(path...); err != nil {
				problems.ErrorE(err)
			}
		}
	}
	return problems
}

// namespaceField is the path of the field in which a cluster-scoped resource names the namespace of a service.
func namespaceField(item *fn.KubeObject) []string {
	switch {
	case isNamespace(item):
	case item.IsGVK("apiextensions.k8s.io", "v1", "CustomResourceDefinition"):
		return []string{"spec", "conversion", "webhook", "clientConfig", "service", "namespace"}
	case item.IsGVK("apiregistration.k8s.io", "v1", "APIService"):
		return []string{"spec", "service", "namespace"}
	}
	return nil
}

// isNamespace tells whether the catalog's implementation takes a resource for a Namespace, as it does one without a kind.
func isNamespace(item *fn.KubeObject) bool {
	return item.IsGVK("", "v1", "Namespace") && !item.IsNamespaceScoped()
}

// lacksNamespaceField reports whether a resource of a kind that may name the namespace of a service names none. The API
// server would refuse one that is given half a service reference.
func lacksNamespaceField(item *fn.KubeObject) bool {
	path := namespaceField(item)
	if path == nil || item.IsNamespaceScoped() {
		return false
	}
	_, found, _ := item.NestedString(path...)
	return !found
}
