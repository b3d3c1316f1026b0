// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package deleteannotations implements the function delete-annotations.
package deleteannotations

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// Function is the function delete-annotations.
var Function = function.Function{
	Name:      "delete-annotations",
	Version:   "v0.1.0",
	Summary:   "deletes annotations",
	Traits:    function.Traits{Worker: true, Deterministic: true},
	Config:    "v1 ConfigMap, data.annotationKeys: the annotations, separated by commas",
	Process:   deleteAnnotations,
	KeepsList: true,
	Unshared:  true,
}

// deleteAnnotations deletes annotations of resources, including local configuration. It also deletes the annotations field if
// it is then empty.
func deleteAnnotations(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	keys, err := keysOf(rl.FunctionConfig)
	if err != nil {
		rl.LogResult(fn.ErrorConfigObjectResult(err, rl.FunctionConfig))
		return false, nil
	}
	var deleted fn.Results
	ok, err := nodes.Each(ctx, rl, func(item *fn.KubeObject) error {
		return nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (bool, error) {
			found := deleteFrom(root, keys)
			for _, key := range found {
				result := fn.GeneralResult(fmt.Sprintf("Annotation: [%s] removed from resource: [%s]", key, item.GetName()), fn.Info)
				result.File = origin.Path(item)
				deleted = append(deleted, result)
			}
			return len(found) > 0, nil
		})
	})
	if err == nil && ok && len(deleted) == 0 {
		rl.Results.Infof("None of the resources had the provided annotations to delete")
	}
	rl.LogResult(deleted)
	return ok, err
}

// deleteFrom deletes annotations of a resource and returns those that it had.
func deleteFrom(root *yaml.Node, keys []string) (found []string) {
	metadata := yamlnode.Field(root, "metadata")
	annotations := yamlnode.Field(metadata, "annotations")
	for _, key := range keys {
		if yamlnode.Field(annotations, key) != nil {
			yamlnode.Remove(annotations, key)
			found = append(found, key)
		}
	}
	if len(found) > 0 && len(annotations.Content) == 0 {
		yamlnode.Remove(metadata, "annotations")
	}
	return found
}

// keysOf returns the annotations in a functionConfig.
func keysOf(config *fn.KubeObject) ([]string, error) {
	if config.IsEmpty() {
		return nil, errors.New("functionConfig is missing: want a v1 ConfigMap")
	}
	if version, kind := config.GetAPIVersion(), config.GetKind(); version != "v1" || kind != "ConfigMap" {
		return nil, fmt.Errorf("functionConfig is a %s %s: want a v1 ConfigMap", version, kind)
	}
	data, err := functionconfig.Data(config)
	if err != nil {
		return nil, err
	}
	var keys []string
	for key := range strings.SplitSeq(data["annotationKeys"], ",") {
		if key = strings.TrimSpace(key); key != "" {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("annotationKeys was not provided: name at least one annotation")
	}
	return keys, nil
}
