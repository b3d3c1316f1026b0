// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package setprojectid

import (
	"context"
	"errors"
	"regexp"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/functionconfig"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// Function is set-project-id.
var Function = function.Function{
	Name:    "set-project-id",
	Version: "v0.2.0",
	Summary: "sets the Google Cloud project of Config Connector's resources, and the setter project-id of the package",
	Config:  "ConfigMap, data.project-id: the project",
	Process: setProjectID,
}

const (
	projectSetter     = "project-id"
	projectAnnotation = "cnrm.cloud.google.com/project-id"
)

// connectorVersion is the apiVersion of what Config Connector makes in Google Cloud.
var connectorVersion = regexp.MustCompile(`^\w+\.cnrm\.cloud\.google\.com/\w+$`)

// setProjectID gives the project to the setter project-id in the pipeline of every Kptfile, and to the resources of Config
// Connector, local configuration too. A project that is there already stays.
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

// annotateProject annotates a resource that lacks the annotation.
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
