// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package ensurenamesubstring is the function ensure-name-substring.
package ensurenamesubstring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/filters/fieldspec"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/identity"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/evaluation/traits"
)

// Function is ensure-name-substring.
var Function = function.Function{
	Name:    "ensure-name-substring",
	Version: "v0.2.0",
	Summary: "prepends or appends a substring to the names that lack it",
	Traits:  traits.Traits{Worker: true, Deterministic: true},
	Config: "v1 ConfigMap, data.prepend or data.append: the substring\n" +
		"fn.kpt.dev/v1alpha1 EnsureNameSubstring, substring; editMode: prepend (default) or append; additionalNameFields: " +
		"more fields to edit, each with path, and as needed group, version, kind and create",
	Process:   ensureNameSubstring,
	KeepsList: true,
}

// keepTheirNames are the kinds of which the name means something by itself.
var keepTheirNames = []resid.Gvk{
	{Kind: "CustomResourceDefinition"},
	{Group: "apiregistration.k8s.io", Kind: "APIService"},
	{Kind: "Namespace"},
	{Group: "kpt.dev", Kind: "Kptfile"},
}

// ensureNameSubstring renames every resource, local configuration too, of which the name lacks the substring, and then
// has those follow that refer to it by its name. A resource that is not as its kind should be is an error result and a
// failure; the others are done nevertheless.
func ensureNameSubstring(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	substring, err := nameSubstringOf(rl.FunctionConfig)
	if err != nil {
		rl.Results.Errorf("failed to load the `functionConfig`: %s", err)
		return false, nil
	}
	if err := identity.Check(rl.Items); err != nil {
		rl.Results.Errorf("failed to convert items to resource map: %s", err)
		return false, nil
	}
	renamed := renamedItems{}
	ok, err := nodes.Each(ctx, rl, func(item *fn.KubeObject) error {
		return substring.rename(item, renamed)
	})
	if err != nil || len(renamed) == 0 {
		return ok, err
	}
	if err := identity.Check(rl.Items); err != nil {
		rl.Results.Errorf("failed to rename items, of which two would be the same: %s", err)
		return false, nil
	}
	followed, err := nodes.Each(ctx, rl, func(item *fn.KubeObject) error {
		if err := renamed.followDependencies(item, substring.in); err != nil {
			return err
		}
		return renamed.followReferences(item, substring.in)
	})
	return ok && followed, err
}

// rename edits the name of a resource, and the user's own fields. It notes what the resource was called.
func (s nameSubstring) rename(item *fn.KubeObject, renamed renamedItems) error {
	return nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (changed bool, err error) {
		id := identity.Of(root)
		if slices.ContainsFunc(keepTheirNames, func(kind resid.Gvk) bool { return id.IsSelected(&kind) }) {
			return false, nil
		}
		setValue := func(value *yaml.RNode) error {
			if value.IsNil() || value.IsTaggedNull() {
				return nil
			}
			if err := yaml.ErrorIfInvalid(value, yaml.ScalarNode); err != nil {
				return err
			}
			if text := value.YNode().Value; s.in(text) != text {
				nodes.SetText(value.YNode(), s.in(text))
				changed = true
			}
			return nil
		}
		for _, field := range s.fields {
			filter := fieldspec.Filter{
				FieldSpec: field, SetValue: setValue, CreateKind: yaml.ScalarNode, CreateTag: yaml.NodeTagString,
			}
			if _, err := filter.Filter(yaml.NewRNode(root)); err != nil {
				return changed, err
			}
		}
		if s.in(id.Name) != id.Name {
			renamed[id.Name] = append(renamed[id.Name], id)
		}
		return changed, nil
	})
}

// nameSubstring is what a functionConfig of ensure-name-substring asks for.
type nameSubstring struct {
	substring string
	editMode  string // prepend or append
	fields    []types.FieldSpec
}

// in returns a text with the substring in it, which may have been there before.
func (s nameSubstring) in(text string) string {
	switch {
	case strings.Contains(text, s.substring):
		return text
	case s.editMode == "append":
		return text + s.substring
	default:
		return s.substring + text
	}
}

func nameSubstringOf(config *fn.KubeObject) (nameSubstring, error) {
	var (
		substring nameSubstring
		err       error
	)
	switch apiVersion, kind := config.GetAPIVersion(), config.GetKind(); {
	case config.IsEmpty():
	case apiVersion == "v1" && kind == "ConfigMap":
		if _, err = yaml.NewRNode(function.NodeOf(config)).GetValidatedMetadata(); err == nil {
			err = substring.readData(config)
		}
	case apiVersion == fn.KptFunctionAPIVersion && kind == "EnsureNameSubstring":
		if _, err = yaml.NewRNode(function.NodeOf(config)).GetValidatedMetadata(); err == nil {
			err = substring.readTyped(config)
		}
	default:
		group, version := resid.ParseGroupVersion(apiVersion)
		return nameSubstring{}, fmt.Errorf("function config must be either /v1, Kind=ConfigMap or %s, "+
			"Kind=EnsureNameSubstring, but we got: %s/%s, Kind=%s", fn.KptFunctionAPIVersion, group, version, kind)
	}
	switch {
	case err != nil:
		return nameSubstring{}, err
	case substring.substring == "":
		return nameSubstring{}, errors.New("substring must not be empty")
	case substring.editMode != "prepend" && substring.editMode != "append":
		return nameSubstring{}, fmt.Errorf("unknown editMode: %s, only prepend and append are allowed", substring.editMode)
	}
	substring.fields = append([]types.FieldSpec{{Path: "metadata/name"}}, substring.fields...)
	return substring, nil
}

func (s *nameSubstring) readData(config *fn.KubeObject) error {
	data, err := functionconfig.Data(config)
	if err != nil {
		return err
	}
	if len(data) != 1 {
		return fmt.Errorf("only 1 entry is allowed in the ConfigMap, but got: %d", len(data))
	}
	for mode, substring := range data { // the one
		s.editMode, s.substring = mode, substring
	}
	return nil
}

func (s *nameSubstring) readTyped(config *fn.KubeObject) error {
	var typed struct {
		Substring  string            `yaml:"substring"`
		EditMode   string            `yaml:"editMode"`
		Fields     []types.FieldSpec `yaml:"additionalNameFields"`
		FieldSpecs []types.FieldSpec `yaml:"fieldSpecs"` // the same by its former name
	}
	if err := function.NodeOf(config).Decode(&typed); err != nil {
		return errors.New(nodes.OneLine(functionconfig.WithoutTypes(err)))
	}
	if len(typed.Fields) > 0 && len(typed.FieldSpecs) > 0 {
		return errors.New("`fieldSpecs` has been deprecated, please rename it to `additionalNameFields`")
	}
	s.substring, s.editMode = typed.Substring, cmp.Or(typed.EditMode, "prepend")
	s.fields = slices.Concat(typed.Fields, typed.FieldSpecs)
	return nil
}
