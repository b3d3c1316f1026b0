// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package ensurenamesubstring implements the function ensure-name-substring.
package ensurenamesubstring

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/renaming"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function ensure-name-substring.
var Function = function.Function{
	Name:    "ensure-name-substring",
	Version: "v0.2.0",
	Summary: "prepends or appends a substring to the names that lack it",
	Traits:  function.Traits{Worker: true, Deterministic: true},
	Config: "v1 ConfigMap, data.prepend or data.append: the substring\n" +
		"fn.kpt.dev/v1alpha1 EnsureNameSubstring, substring; editMode: prepend (default) or append; additionalNameFields: " +
		"more fields to edit, each with path, and as needed group, version, kind and create",
	Process:   ensureNameSubstring,
	KeepsList: true,
}

// ensureNameSubstring renames the resources whose name lacks the substring, and edits additional fields in the same way.
func ensureNameSubstring(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	substring, err := nameSubstringOf(rl.FunctionConfig)
	if err != nil {
		rl.Results.Errorf("failed to load the `functionConfig`: %s", err)
		return false, nil
	}
	return renaming.Rename(ctx, rl, substring.in, substring.fields...)
}

// nameSubstring is the parsed functionConfig.
type nameSubstring struct {
	substring string
	editMode  string            // prepend or append
	fields    []types.FieldSpec // fields in addition to the name
}

// in returns a text that contains the substring.
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
	for mode, substring := range data { // the only entry
		s.editMode, s.substring = mode, substring
	}
	return nil
}

func (s *nameSubstring) readTyped(config *fn.KubeObject) error {
	var typed struct {
		Substring  string            `yaml:"substring"`
		EditMode   string            `yaml:"editMode"`
		Fields     []types.FieldSpec `yaml:"additionalNameFields"`
		FieldSpecs []types.FieldSpec `yaml:"fieldSpecs"` // the old name of additionalNameFields
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
