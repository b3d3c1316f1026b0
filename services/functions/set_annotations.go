// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/filters/fieldspec"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"
)

var _ = register(Function{
	Name:    "set-annotations",
	Version: "v0.1.4",
	Tags:    []string{"v0.1.4", "v0.1"},
	Summary: "sets annotations on resources and their pod templates",
	Config: "v1 ConfigMap, data: the annotations\n" +
		"fn.kpt.dev/v1alpha1 SetAnnotations, annotations: the annotations; additionalAnnotationFields: more fields to set " +
		"them in, each with path, and as needed group, version, kind and create",
	Process: setAnnotations,
})

// annotationFields are the fields that are annotated after the user's own. They are made where they are missing.
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

// setAnnotations sets annotations on every resource, local configuration too. There is one result for each file, position
// in it and field, whether anything changed or not.
func setAnnotations(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	config, err := annotationConfigOf(rl.FunctionConfig)
	if err != nil {
		rl.Results.Errorf("failed to configure function: %s", err)
		return false, nil
	}
	if err := checkIdentities(rl.Items); err != nil {
		rl.Results.Errorf("failed to run function: %s", err)
		return false, nil
	}
	set := annotationResults{}
	for _, item := range rl.Items {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		for _, key := range config.keys {
			for _, field := range config.fields {
				if err := annotate(item, field, key, config.annotations[key], set); err != nil {
					rl.Results.Errorf("failed to run function: failed to run transformer: %s", err)
					return false, nil
				}
			}
		}
	}
	rl.LogResult(set.results())
	return true, nil
}

// annotate sets one annotation in one field of a resource, and notes where it did.
func annotate(item *fn.KubeObject, field types.FieldSpec, key, value string, set annotationResults) error {
	file := sourceFile(item)
	// The filter follows aliases, and one that stands for itself would have no end.
	return editUnshared(nodeOf(item), func(root *yaml.Node) (changed bool, err error) {
		filter := fieldspec.Filter{
			FieldSpec:  field,
			CreateKind: yaml.MappingNode,
			CreateTag:  yaml.NodeTagMap,
			SetValue: func(annotations *yaml.RNode) error {
				if err := yaml.ErrorIfInvalid(annotations, yaml.MappingNode); err != nil {
					return err
				}
				if err := setString(root, annotations.YNode(), stringNode(key), stringNode(value)); err != nil {
					return err
				}
				changed = true
				set.add(annotatedField{file, strings.ReplaceAll(field.Path, "/", ".")}, key, value)
				return nil
			},
		}
		_, err = filter.Filter(yaml.NewRNode(root))
		return changed, err
	})
}

// annotatedField is a field of the resources at one place in one file.
type annotatedField struct {
	file fn.File
	path string
}

// annotationResults are the annotations that were set in each field.
type annotationResults map[annotatedField]map[string]string

func (set annotationResults) add(field annotatedField, key, value string) {
	if set[field] == nil {
		set[field] = map[string]string{}
	}
	set[field][key] = value
}

func (set annotationResults) results() fn.Results {
	if len(set) == 0 {
		return fn.Results{{Message: "no annotations applied"}}
	}
	var results fn.Results
	for field, annotations := range set {
		text, err := json.Marshal(annotations)
		if err != nil {
			text = fmt.Append(nil, annotations)
		}
		results = append(results, &fn.Result{
			Message: "set annotations: " + string(text),
			Field:   &fn.Field{Path: field.path},
			File:    &field.file,
		})
	}
	results.Sort()
	return results
}
