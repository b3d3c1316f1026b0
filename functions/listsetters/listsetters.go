// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package listsetters implements the function list-setters.
package listsetters

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/fields"
	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/functions/internal/setters"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// Function is the function list-setters.
var Function = function.Function{
	Name:      "list-setters",
	Version:   "v0.1.0",
	Summary:   "lists the setters of a package, their values, and how many fields use them",
	Traits:    function.Traits{Worker: true, Deterministic: true},
	Config:    "none",
	Process:   listSetters,
	KeepsList: true,
}

type foundSetter struct {
	value string
	kind  string // type of its fields, such as "int"; "array" for lists
	count int    // number of its fields
}

type foundSetters map[string]foundSetter

// listSetters lists the setters in the Kptfile and in field comments. It changes nothing.
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
		err := nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (bool, error) {
			return false, fields.Visitor{List: found.addList, Scalar: found.addScalar}.Visit(root)
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
		message := fmt.Sprintf("Name: %s, Value: %s, Type: %s, Count: %d", name, setter.value, setter.kind, setter.count)
		rl.Results = append(rl.Results, &fn.Result{Message: message})
	}
	return true, nil
}

func (s foundSetters) addList(key, list *yaml.Node, _ string) error {
	name := setters.OfList(setters.Pattern(setters.ListComment(key, list)))
	texts, ok := setters.SortedTexts(list)
	if name != "" && ok {
		s.add(name, listValue(texts), "array")
	}
	return nil
}

func (s foundSetters) addScalar(scalar *yaml.Node, _ string) error {
	pattern := setters.Pattern(scalar.LineComment)
	if pattern == "" {
		return nil
	}
	for name, value := range setters.Values(pattern, scalar.Value) {
		s.add(name, value, strings.TrimPrefix(scalar.ShortTag(), "!!"))
	}
	return nil
}

// add records a field of a setter. The first value wins. The type "str" is replaced by that of the field.
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

// addDeclared records the setters for which the Kptfile passes values to apply-setters. The last value wins. Missing setters
// are not an error.
func (s foundSetters) addDeclared(items fn.KubeObjects) error {
	kf, err := kptfileOf(items)
	if err != nil || kf == nil || kf.Pipeline == nil {
		return err
	}
	for _, function := range kf.Pipeline.Mutators {
		if !strings.Contains(function.Image, "apply-setters") {
			continue
		}
		values := function.ConfigMap
		if config := origin.At(items, function.ConfigPath); config != nil {
			if values, err = functionconfig.Data(config); err != nil {
				return fmt.Errorf("read the values of setters in %s: %w", function.ConfigPath, err)
			}
		}
		for name, value := range values {
			if texts, ok := setters.ParseList(value); ok {
				s[name] = foundSetter{value: listValue(texts), kind: "array"}
			} else {
				s[name] = foundSetter{value: value, kind: "str"}
			}
		}
	}
	return nil
}

// kptfileOf parses the Kptfile of the root package. It returns nil if there is none, or if kpt no longer supports its version.
func kptfileOf(items fn.KubeObjects) (*kptfilev1.KptFile, error) {
	item := origin.At(items, kptfile.FileName)
	if item == nil {
		return nil, nil
	}
	kf, err := kptfile.Parse(".", []byte(item.String()))
	if _, ok := errors.AsType[*kptfile.VersionError](err); ok {
		return nil, nil
	}
	if read, ok := errors.AsType[*kptfile.ReadError](err); ok {
		return nil, fmt.Errorf("unable to read Kptfile: invalid 'v1' Kptfile: %w", read.Err)
	}
	return kf, err
}
