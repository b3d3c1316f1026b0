// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package ensurenamesubstring

import (
	"cmp"
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
	"github.com/krmfn/krmfn/services/evaluation/function"
)

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

// readData reads the data of a ConfigMap.
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
		return errors.New(nodes.OneLine(err))
	}
	if len(typed.Fields) > 0 && len(typed.FieldSpecs) > 0 {
		return errors.New("`fieldSpecs` has been deprecated, please rename it to `additionalNameFields`")
	}
	s.substring, s.editMode = typed.Substring, cmp.Or(typed.EditMode, "prepend")
	s.fields = slices.Concat(typed.Fields, typed.FieldSpecs)
	return nil
}
