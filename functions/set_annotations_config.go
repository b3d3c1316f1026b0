// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

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
)

// annotationConfig is what a functionConfig of set-annotations asks for.
type annotationConfig struct {
	annotations map[string]string
	entries     []entry // the annotations as they are written
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
		typed.Annotations, err = dataOf(config)
	case config.GetAPIVersion() == fn.KptFunctionAPIVersion && (kind == "SetAnnotations" || kind == "SetAnnotationConfig"):
		err = nodeOf(config).Decode(&typed)
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
		entries:     entriesOf(typed.Annotations),
		fields:      slices.Concat(typed.Fields, typed.FieldSpecs, annotationFields),
	}, nil
}

// checkIdentities refuses resources without a name, and two with the same identity: kustomize, on which the catalog's
// function is built, does.
func checkIdentities(items fn.KubeObjects) error {
	seen := map[resid.ResId]bool{}
	for _, item := range items {
		rn := yaml.NewRNode(nodeOf(item))
		id := resid.FromRNode(rn)
		// What is plainly right is not looked at again, which would take longer than all the rest.
		if strings.TrimSpace(id.Kind) == "" || id.Name == "" {
			if _, err := rn.GetValidatedMetadata(); err != nil {
				return err
			}
		}
		key := id
		key.Namespace = id.EffectiveNamespace()
		if seen[key] {
			return fmt.Errorf("may not add resource with an already registered id: %s", formerID(id))
		}
		seen[key] = true
	}
	return nil
}

// formerID writes an identity as the kustomize of the catalog's function does.
func formerID(id resid.ResId) string {
	return strings.Join([]string{
		cmp.Or(id.Group, "~G") + "_" + cmp.Or(id.Version, "~V") + "_" + cmp.Or(id.Kind, "~K"),
		cmp.Or(id.Namespace, "~X"),
		cmp.Or(id.Name, "~N"),
	}, "|")
}
