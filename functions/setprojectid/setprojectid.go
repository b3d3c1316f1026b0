// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package setprojectid implements the function set-project-id.
package setprojectid

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// Function is the function set-project-id.
var Function = function.Function{
	Name:      "set-project-id",
	Version:   "v0.2.0",
	Summary:   "sets the Google Cloud project of Config Connector resources, and the setter project-id of the package",
	Traits:    function.Traits{Worker: true, Deterministic: true},
	Config:    "ConfigMap, data.project-id: the project",
	Process:   setProjectID,
	KeepsList: true,
}

const (
	projectSetter     = "project-id"
	projectAnnotation = "cnrm.cloud.google.com/project-id"
)

// connectorVersion matches the apiVersion of Config Connector resources.
var connectorVersion = regexp.MustCompile(`^\w+\.cnrm\.cloud\.google\.com/\w+$`)

// setProjectID sets the setter project-id in the pipeline of every Kptfile, and the project of Config Connector resources,
// including local configuration. It keeps existing projects.
func setProjectID(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	data, err := functionconfig.Data(rl.FunctionConfig)
	if err == nil && data[projectSetter] == "" {
		err = errors.New("data.project-id of the functionConfig must be given")
	}
	if err != nil {
		rl.Results.Errorf("failed to set project-id: %s", err)
		return false, nil
	}
	id := data[projectSetter]
	if err := setProjectSetter(ctx, rl.Items, id); err != nil {
		if ctx.Err() != nil {
			return false, err
		}
		rl.Results.Errorf("failed to set project-id setter: %s", err)
		return false, nil
	}
	return nodes.Each(ctx, rl, func(item *fn.KubeObject) error {
		version := item.GetAPIVersion()
		if !connectorVersion.MatchString(version) || strings.HasPrefix(version, "core.") {
			return nil
		}
		return nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (bool, error) {
			return annotateProject(root, id)
		})
	})
}

func annotateProject(root *yaml.Node, id string) (changed bool, err error) {
	metadata, err := nodes.Mapping(root, "metadata")
	if err != nil {
		return false, err
	}
	annotations, err := nodes.Mapping(metadata, "annotations")
	if err != nil || !yamlnode.IsNull(yamlnode.Field(annotations, projectAnnotation)) {
		return false, err
	}
	return true, nodes.SetString(root, annotations, projectAnnotation, id)
}

// setProjectSetter sets the setter project-id wherever a package passes values to apply-setters. A package without such a step
// gets one.
func setProjectSetter(ctx context.Context, items fn.KubeObjects, id string) error {
	found := false
	for _, item := range items {
		if err := ctx.Err(); err != nil {
			return err
		}
		if item.GetKind() != kptfile.FileName {
			continue
		}
		found = true
		if err := setInKptfile(items, item, id); err != nil {
			return fmt.Errorf("error updating Kptfile: %w", err)
		}
	}
	if !found {
		return errors.New("failed to find Kptfile: unable to find Kptfile, " +
			"please include --include-meta-resources flag if a Kptfile is present")
	}
	return nil
}

// setInKptfile sets the value in a Kptfile, or in the file to which its configPath refers.
func setInKptfile(items fn.KubeObjects, item *fn.KubeObject, id string) error {
	file := origin.File(item).Path
	if _, err := kptfile.Parse(path.Dir(file), []byte(item.String())); err != nil {
		return errors.New(nodes.OneLine(err))
	}
	configPath := ""
	err := nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (bool, error) {
		pipeline, err := nodes.Mapping(root, "pipeline")
		if err != nil {
			return false, err
		}
		step := settersStep(yamlnode.Field(pipeline, "mutators"))
		if step == nil {
			addSettersStep(pipeline, id)
			return true, nil
		}
		if values := yamlnode.Field(step, "configMap"); !yamlnode.IsNull(values) {
			return fillIn(root, values, id)
		}
		if value := yamlnode.Field(step, "configPath"); !yamlnode.IsNull(value) && value.Value != "" {
			configPath = value.Value
			return false, nil
		}
		return false, errors.New("unable to find `ConfigMap` or `configPath` as the `functionConfig` for apply-setters")
	})
	if err != nil || configPath == "" {
		return err
	}
	config := origin.At(itemsBeside(items, item), path.Join(path.Dir(file), configPath))
	if config == nil {
		return fmt.Errorf("failed to find setter file: file %s doesn't exist, "+
			"please ensure the file specified in \"configPath\" exists and retry", configPath)
	}
	return nodes.EditUnshared(function.NodeOf(config), func(root *yaml.Node) (bool, error) {
		values, err := nodes.Mapping(root, "data")
		if err != nil {
			return false, fmt.Errorf("file %s: %w", configPath, err)
		}
		return fillIn(root, values, id)
	})
}

// itemsBeside returns the items in the same package as item. Paths are relative to the package, so that two packages may have
// the same paths.
func itemsBeside(items fn.KubeObjects, item *fn.KubeObject) fn.KubeObjects {
	const packagePath = "internal.config.kubernetes.io/package-path"
	own := nodes.Annotation(function.NodeOf(item), packagePath)
	return items.Where(func(other *fn.KubeObject) bool { return nodes.Annotation(function.NodeOf(other), packagePath) == own })
}

// settersStep returns the first step of a pipeline with apply-setters, or nil.
func settersStep(mutators *yaml.Node) *yaml.Node {
	if mutators == nil {
		return nil
	}
	for _, step := range mutators.Content {
		if image := yamlnode.Field(step, "image"); image != nil && strings.Contains(image.Value, "apply-setters") {
			return step
		}
	}
	return nil
}

// addSettersStep adds a step with only this value, like the catalog's function.
func addSettersStep(pipeline *yaml.Node, id string) {
	values := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, Content: []*yaml.Node{
		nodes.String(projectSetter), nodes.String(id),
	}}
	step := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, Content: []*yaml.Node{
		nodes.String("image"), nodes.String("gcr.io/kpt-fn/apply-setters:v0.2"), nodes.String("configMap"), values,
	}}
	mutators := yamlnode.Field(pipeline, "mutators")
	if yamlnode.IsNull(mutators) {
		mutators = yamlnode.MakeMapping(pipeline, nodes.String("mutators"))
		mutators.Kind, mutators.Tag = yaml.SequenceNode, yaml.NodeTagSeq
	}
	if len(mutators.Content) == 0 && pipeline.Style&yaml.FlowStyle == 0 {
		mutators.Style &^= yaml.FlowStyle
	}
	mutators.Content = append(mutators.Content, step)
}

// fillIn sets the value if it is missing or empty.
func fillIn(root, values *yaml.Node, id string) (changed bool, err error) {
	if value := yamlnode.Field(values, projectSetter); !yamlnode.IsNull(value) && (value.Kind != yaml.ScalarNode || value.Value != "") {
		return false, nil
	}
	return true, nodes.SetString(root, values, projectSetter, id)
}
