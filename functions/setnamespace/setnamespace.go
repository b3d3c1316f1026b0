// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setnamespace is the function set-namespace.
package setnamespace

import (
	"context"
	"slices"

	transformer "github.com/kptdev/krm-functions-catalog/functions/go/set-namespace/transformer"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/evaluation/traits"
	"github.com/krmfn/krmfn/services/render/parallel"
)

// Function is set-namespace.
var Function = function.Function{
	Name:     "set-namespace",
	Version:  "v0.4.5",
	Releases: []string{"v0.1.1", "v0.4.1", "v0.4.2"},
	Summary:  "moves resources, and what refers to them, to another namespace",
	Traits:   traits.Traits{Worker: true, Deterministic: true},
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
	parts := slices.Collect(slices.Chunk(rl.Items, perPart))
	problems := make([]fn.Results, len(parts))
	_ = parallel.Each(len(parts), func(i int) error {
		parts[i] = parts[i].WhereNot(fn.IsLocalConfig)
		problems[i] = namespaceProblems(parts[i])
		return nil
	})
	if problems := slices.Concat(problems...); len(problems) > 0 {
		rl.LogResult(problems)
		return false, nil
	}
	items := slices.Concat(parts...)

	var matchers []string
	if config.NamespaceMatcher != "" {
		matchers = []string{config.NamespaceMatcher}
		// The results are to have resources without namespaces first.
		parts = []fn.KubeObjects{items}
	}
	dependent := items.Where(func(o *fn.KubeObject) bool { return o.GetAnnotation(dependsOn) != "" })
	var dependencies map[string]struct{}
	if len(dependent) > 0 {
		dependencies = transformer.MapGKNNBeforeChange(items)
	}
	rl.LogResult(replaceNamespaces(parts, config.NewNamespace, matchers))
	count, old := transformer.UpdateAnnotation(dependent, dependencies, config.NewNamespace, matchers...)
	rl.LogResult(transformer.AddAnnotationResult(nil, count, config.NewNamespace, old...))
	if nodes.String(config.NewNamespace).Style != 0 {
		for _, item := range items {
			quoteNamespaces(function.NodeOf(item), config.NewNamespace, isNamespace(item))
		}
	}
	return true, nil
}

const (
	// perPart is how many items are changed by one goroutine at a time.
	perPart = 250
	// dependsOn is the annotation that names other resources by their namespaces.
	dependsOn = "config.kubernetes.io/depends-on"
)

// replaceNamespaces changes the items of all parts at once.
func replaceNamespaces(parts []fn.KubeObjects, namespace string, matchers []string) fn.Results {
	results, counts, olds := make([]fn.Results, len(parts)), make([]int, len(parts)), make([][]string, len(parts))
	_ = parallel.Each(len(parts), func(i int) error {
		results[i], counts[i], olds[i] = transformer.WalkAndReplace(parts[i].WhereNot(lacksNamespaceField), namespace, matchers...)
		return nil
	})
	count := 0
	for _, c := range counts {
		count += c
	}
	old := slices.Concat(olds...)
	slices.Sort(old)
	return transformer.AddSummaryResult(slices.Concat(results...), count, namespace, slices.Compact(old)...)
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
