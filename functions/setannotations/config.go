// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setannotations

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// annotationConfig is what a functionConfig of set-annotations asks for.
type annotationConfig struct {
	annotations map[string]string
	entries     []nodes.Entry // the annotations as they are written
	fields      []types.FieldSpec
}

func annotationConfigOf(config *fn.KubeObject) (annotationConfig, error) {
	var typed struct {
		Annotations map[string]string `yaml:"annotations"`
		Fields      []types.FieldSpec `yaml:"additionalAnnotationFields"`
		FieldSpecs  []types.FieldSpec `yaml:"fieldSpecs"` // the same by its former name
	}
	var err error
	switch kind := config.GetKind(); {
	case config.GetAPIVersion() == "v1" && kind == "ConfigMap":
		typed.Annotations, err = functionconfig.Data(config)
	case config.GetAPIVersion() == fn.KptFunctionAPIVersion && (kind == "SetAnnotations" || kind == "SetAnnotationConfig"):
		err = function.NodeOf(config).Decode(&typed)
	default:
		return annotationConfig{}, errors.New("`functionConfig` must be a `ConfigMap` or `SetAnnotations`")
	}
	switch {
	case err != nil:
		return annotationConfig{}, fmt.Errorf("failed to unmarshal config: %w", err)
	case len(typed.Fields) > 0 && len(typed.FieldSpecs) > 0:
		return annotationConfig{}, errors.New(
			"`fieldSpecs` has been deprecated, please rename it to `additionalAnnotationFields`")
	case len(typed.Annotations) == 0:
		return annotationConfig{}, errors.New("input annotation list cannot be empty")
	}
	return annotationConfig{
		annotations: typed.Annotations,
		entries:     nodes.Entries(typed.Annotations),
		fields:      slices.Concat(typed.Fields, typed.FieldSpecs, annotationFields),
	}, nil
}
