// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package functions

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/kptfile"
)

// setProjectSetter gives a value to the setter project-id wherever a package hands values to apply-setters. A package that
// hands it none gets a step that does.
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

// setInKptfile sets the value in a Kptfile, or in the file that it says the values are in.
func setInKptfile(items fn.KubeObjects, item *fn.KubeObject, id string) error {
	file := sourceFile(item).Path
	if _, err := kptfile.Parse(path.Dir(file), []byte(item.String())); err != nil {
		return errors.New(oneLine(err))
	}
	configPath := ""
	err := editUnshared(nodeOf(item), func(root *yaml.Node) (bool, error) {
		pipeline, err := mappingIn(root, "pipeline")
		if err != nil {
			return false, err
		}
		step := settersStep(field(pipeline, "mutators"))
		if step == nil {
			addSettersStep(pipeline, id)
			return true, nil
		}
		if values := field(step, "configMap"); !isNull(values) {
			return fillIn(root, values, id)
		}
		if value := field(step, "configPath"); !isNull(value) && value.Value != "" {
			configPath = value.Value
			return false, nil
		}
		return false, errors.New("unable to find `ConfigMap` or `configPath` as the `functionConfig` for apply-setters")
	})
	if err != nil || configPath == "" {
		return err
	}
	config := itemAt(itemsBeside(items, item), path.Join(path.Dir(file), configPath))
	if config == nil {
		return fmt.Errorf("failed to find setter file: file %s doesn't exist, "+
			"please ensure the file specified in \"configPath\" exists and retry", configPath)
	}
	return editUnshared(nodeOf(config), func(root *yaml.Node) (bool, error) {
		values, err := mappingIn(root, "data")
		if err != nil {
			return false, fmt.Errorf("file %s: %w", configPath, err)
		}
		return fillIn(root, values, id)
	})
}

// itemsBeside returns the items of the package that one is of: paths are from there, so that those of two packages may be
// alike.
func itemsBeside(items fn.KubeObjects, item *fn.KubeObject) fn.KubeObjects {
	const packagePath = "internal.config.kubernetes.io/package-path"
	own := annotationText(nodeOf(item), packagePath)
	return items.Where(func(other *fn.KubeObject) bool { return annotationText(nodeOf(other), packagePath) == own })
}

// settersStep returns the first step of a pipeline that applies setters, or nil.
func settersStep(mutators *yaml.Node) *yaml.Node {
	if mutators == nil {
		return nil
	}
	for _, step := range mutators.Content {
		if image := field(step, "image"); image != nil && strings.Contains(image.Value, "apply-setters") {
			return step
		}
	}
	return nil
}

// addSettersStep adds a step with the one value, in the catalog's own words.
func addSettersStep(pipeline *yaml.Node, id string) {
	values := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, Content: []*yaml.Node{
		stringNode(projectSetter), stringNode(id),
	}}
	step := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap, Content: []*yaml.Node{
		stringNode("image"), stringNode("gcr.io/kpt-fn/apply-setters:v0.2"), stringNode("configMap"), values,
	}}
	mutators := field(pipeline, "mutators")
	if isNull(mutators) {
		mutators = makeMapping(pipeline, "mutators")
		mutators.Kind, mutators.Tag = yaml.SequenceNode, yaml.NodeTagSeq
	}
	if len(mutators.Content) == 0 && pipeline.Style&yaml.FlowStyle == 0 {
		mutators.Style &^= yaml.FlowStyle
	}
	mutators.Content = append(mutators.Content, step)
}

// fillIn sets the value where it is missing or empty.
func fillIn(root, values *yaml.Node, id string) (changed bool, err error) {
	if value := field(values, projectSetter); !isNull(value) && (value.Kind != yaml.ScalarNode || value.Value != "") {
		return false, nil
	}
	return true, setString(root, values, stringNode(projectSetter), stringNode(id))
}
