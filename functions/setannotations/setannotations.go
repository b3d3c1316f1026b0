// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setannotations implements the function set-annotations.
package setannotations

import (
	"context"
	"encoding/json"
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
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/internal/parallel"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function set-annotations.
var Function = function.Function{
	Name:     "set-annotations",
	Version:  "v0.1.4",
	Releases: []string{"v0.1.3"},
	Summary:  "sets annotations on resources and their pod templates",
	Traits:   function.Traits{Worker: true, Deterministic: true},
	Config: "v1 ConfigMap, data: the annotations\n" +
		"fn.kpt.dev/v1alpha1 SetAnnotations, annotations: the annotations; additionalAnnotationFields: more fields to set " +
		"them in, each with path, and as needed group, version, kind and create",
	Process:   setAnnotations,
	KeepsList: true,
	Unshared:  true,
}

// annotationFields are the fields that get annotations, after the user's additional fields. Missing ones are created.
var annotationFields = []types.FieldSpec{
	annotationField("", "", "", "metadata/annotations"),
	annotationField("", "v1", "ReplicationController", "spec/template/metadata/annotations"),
	annotationField("", "", "Deployment", "spec/template/metadata/annotations"),
	annotationField("", "", "ReplicaSet", "spec/template/metadata/annotations"),
	annotationField("", "", "DaemonSet", "spec/template/metadata/annotations"),
	annotationField("", "", "StatefulSet", "spec/template/metadata/annotations"),
	annotationField("batch", "", "Job", "spec/template/metadata/annotations"),
	annotationField("batch", "", "CronJob", "spec/jobTemplate/metadata/annotations"),
	annotationField("batch", "", "CronJob", "spec/jobTemplate/spec/template/metadata/annotations"),
}

func annotationField(group, version, kind, path string) types.FieldSpec {
	return types.FieldSpec{
		Gvk:  resid.Gvk{Group: group, Version: version, Kind: kind},
		Path: path, CreateIfNotPresent: true,
	}
}

// setAnnotations sets annotations on every resource, including local configuration. It reports one result per file, index and
// field, whether or not anything changed.
func setAnnotations(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	config, err := annotationConfigOf(rl.FunctionConfig)
	if err != nil {
		rl.Results.Errorf("failed to configure function: %s", err)
		return false, nil
	}
	if err := identity.Check(rl.Items); err != nil {
		rl.Results.Errorf("failed to run function: %s", err)
		return false, nil
	}
	found := make([][]annotatedField, len(rl.Items))
	err = parallel.Each(len(rl.Items), func(i int) (err error) {
		if found[i], err = config.annotate(rl.Items[i]); err != nil {
			return err
		}
		return ctx.Err()
	})
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil:
		rl.Results.Errorf("failed to run function: failed to run transformer: %s", err)
		return false, nil
	}
	rl.LogResult(annotationResults(slices.Concat(found...), config.annotations))
	return true, nil
}

// annotate sets the annotations in all matching fields of a resource and returns these fields.
func (config *annotationConfig) annotate(item *fn.KubeObject) (found []annotatedField, err error) {
	file := origin.File(item)
	// The filter follows aliases and would not terminate for an alias that contains itself.
	err = nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (changed bool, err error) {
		gvk := resid.GvkFromNode(yaml.NewRNode(root))
		for _, field := range config.fields {
			if !gvk.IsSelected(&field.Gvk) {
				continue
			}
			at, err := config.annotateField(root, field)
			if err != nil {
				return false, err
			}
			if at {
				found = append(found, annotatedField{file, strings.ReplaceAll(field.Path, "/", ".")})
			}
		}
		return len(found) > 0, nil
	})
	return found, err
}

// annotateField sets the annotations in one field. found reports whether the resource has the field, possibly because it was
// created.
func (config *annotationConfig) annotateField(root *yaml.Node, field types.FieldSpec) (found bool, err error) {
	set := func(annotations *yaml.RNode) error {
		if err := yaml.ErrorIfInvalid(annotations, yaml.MappingNode); err != nil {
			return err
		}
		found = true
		for _, e := range config.entries {
			if err := e.Set(root, annotations.YNode()); err != nil {
				return err
			}
		}
		return nil
	}
	filter := fieldspec.Filter{FieldSpec: field, CreateKind: yaml.MappingNode, CreateTag: yaml.NodeTagMap, SetValue: set}
	_, err = filter.Filter(yaml.NewRNode(root))
	return found, err
}

// annotationConfig is the parsed functionConfig.
type annotationConfig struct {
	annotations map[string]string
	entries     []nodes.Entry // the annotations as nodes
	fields      []types.FieldSpec
}

func annotationConfigOf(config *fn.KubeObject) (annotationConfig, error) {
	var typed struct {
		Annotations map[string]string `yaml:"annotations"`
		Fields      []types.FieldSpec `yaml:"additionalAnnotationFields"`
		FieldSpecs  []types.FieldSpec `yaml:"fieldSpecs"` // the old name of additionalAnnotationFields
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
		return annotationConfig{}, fmt.Errorf("failed to unmarshal config: %w", functionconfig.WithoutTypes(err))
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

// annotatedField is a field of the resources at one place in a file.
type annotatedField struct {
	file fn.File
	path string
}

// annotationResults reports the fields in which annotations were set, once for all resources at the same place.
func annotationResults(fields []annotatedField, annotations map[string]string) fn.Results {
	if len(fields) == 0 {
		return fn.Results{{Message: "no annotations applied"}}
	}
	text, err := json.Marshal(annotations)
	if err != nil {
		text = fmt.Append(nil, annotations)
	}
	told := make(map[annotatedField]bool, len(fields))
	var results fn.Results
	for _, field := range fields {
		if told[field] {
			continue
		}
		told[field] = true
		results = append(results, &fn.Result{
			Message: "set annotations: " + string(text),
			Field:   &fn.Field{Path: field.path},
			File:    &field.file,
		})
	}
	results.Sort()
	return results
}
