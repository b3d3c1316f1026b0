// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/evaluation/function"
)

var _ = register(function.Function{
	Name:    "list-setters",
	Version: "v0.1.0",
	Tags:    []string{"v0.1.0", "v0.1"},
	Summary: "lists the setters of a package, their values and how many fields have them",
	Config:  "none",
	Process: listSetters,
})

// foundSetter is a setter of a package.
type foundSetter struct {
	value string
	kind  string // the type of its fields, such as "int"; "array" for lists
	count int    // its fields
}

// foundSetters are the setters of a package by their names.
type foundSetters map[string]foundSetter

// listSetters lists the setters of the Kptfile and of the fields that have a setter's comment. It changes nothing.
func listSetters(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	found := foundSetters{}
	if err := found.addDeclared(rl.Items); err != nil {
		rl.Results.Errorf("failed to list setters: %s", err)
		return false, nil
	}
	for _, item := range rl.Items {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		err := editUnshared(nodeOf(item), func(root *yaml.Node) (bool, error) {
			return false, fieldVisitor{list: found.addList, scalar: found.addScalar}.visit(root)
		})
		if err != nil {
			rl.Results.Errorf("failed to list setters: %s", err)
			return false, nil
		}
	}
	if len(found) == 0 {
		rl.Results.Warningf("no setters found")
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		setter := found[name]
		rl.Results.Infof("Name: %s, Value: %s, Type: %s, Count: %d", name, setter.value, setter.kind, setter.count)
	}
	return true, nil
}

// addList notes the setter of a list.
func (s foundSetters) addList(key, list *yaml.Node, _ string) error {
	name := listSetter(setterPattern(listComment(key, list)))
	texts, ok := sortedTexts(list)
	if name != "" && ok {
		s.add(name, listValue(texts), "array")
	}
	return nil
}

// addScalar notes the setters that a scalar is made of.
func (s foundSetters) addScalar(scalar *yaml.Node, _ string) error {
	pattern := setterPattern(scalar.LineComment)
	if pattern == "" {
		return nil
	}
	for name, value := range setterValues(pattern, scalar.Value) {
		s.add(name, value, strings.TrimPrefix(scalar.ShortTag(), "!!"))
	}
	return nil
}

// add notes a field of a setter. The value that is known first stays; "str" gives way to what the field is.
func (s foundSetters) add(name, value, kind string) {
	setter, ok := s[name]
	if !ok {
		setter = foundSetter{value: value, kind: kind}
	}
	if setter.kind == "str" {
		setter.kind = kind
	}
	setter.count++
	s[name] = setter
}

func listValue(texts []string) string { return "[" + strings.Join(texts, ", ") + "]" }
