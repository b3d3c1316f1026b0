// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setnamespace implements the function set-namespace.
package setnamespace

import (
	"context"
	"slices"

	transformer "github.com/kptdev/krm-functions-catalog/functions/go/set-namespace/transformer"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function set-namespace.
var Function = function.Function{
	Name:     "set-namespace",
	Version:  "v0.4.5",
	Releases: []string{"v0.1.1", "v0.4.1", "v0.4.2"},
	Summary:  "moves resources, and what refers to them, to another namespace",
	Traits:   function.Traits{Worker: true, Deterministic: true},
	Config: "v1 ConfigMap, data.namespace: the namespace; data.namespaceMatcher: the one to be replaced, default any\n" +
		"v1 ConfigMap named kptfile.kpt.dev (the package context), data.name: the namespace\n" +
		"fn.kpt.dev/v1alpha1 SetNamespace, namespace and namespaceMatcher: the same",
	Process:  setNamespace,
	Unshared: true,
}

// setNamespace uses the catalog's implementation, with two differences: problems that it ignores or panics on are error results
// and a failure, and it does not add a namespace field that a CustomResourceDefinition or APIService lacks.
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
		// Results must list resources without a namespace first, so the items are not split.
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
	// perPart is the number of items that one goroutine changes at a time.
	perPart = 250
	// dependsOn is the annotation that refers to other resources by namespace and name.
	dependsOn = "config.kubernetes.io/depends-on"
)

// replaceNamespaces changes the items of all parts in parallel.
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

// quoteNamespaces quotes a namespace such as "no", which the SDK prints without quotes and Kubernetes would parse as a boolean.
// named reports whether node is the metadata of a resource, whose name is also quoted.
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

// namespaceProblems finds items on which the catalog's implementation would panic, or which it would silently ignore.
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

// namespaceField returns the path of the field with a service's namespace in a cluster-scoped resource.
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

// isNamespace reports whether the catalog's implementation treats a resource as a Namespace, which includes resources without a
// kind.
func isNamespace(item *fn.KubeObject) bool {
	return item.IsGVK("", "v1", "Namespace") && !item.IsNamespaceScoped()
}

// lacksNamespaceField reports whether a resource that may refer to a service does not. With only a namespace added, the API
// server would reject the incomplete reference.
func lacksNamespaceField(item *fn.KubeObject) bool {
	path := namespaceField(item)
	if path == nil || item.IsNamespaceScoped() {
		return false
	}
	_, found, _ := item.NestedString(path...)
	return !found
}
