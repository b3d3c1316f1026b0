// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/images/reference"
	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlnode"
)

// configs are the resources that functions of a pipeline have for their functionConfig, by the clean path of their file;
// nil until they are found.
type configs map[string]*yaml.RNode

// newConfigs returns the functionConfig files that functions name, as resources have them.
func newConfigs(functions []kptfilev1.Function, resources []*yaml.RNode, location string) configs {
	c := configs{}
	for i := range functions {
		if file := functions[i].ConfigPath; file != "" {
			c[path.Clean(file)] = nil
		}
	}
	c.refresh(resources, location)
	return c
}

// refresh takes over what a function may have made of them. One that is gone from its file stays what it was.
func (c configs) refresh(resources []*yaml.RNode, location string) {
	if len(c) == 0 {
		return
	}
	fresh := configs{}
	for _, r := range resources {
		file := path.Clean(resource.Path(r))
		if _, wanted := c[file]; wanted && fresh[file] == nil && resource.Annotation(r, resource.PackageAnnotation) == location {
			fresh[file] = r
		}
	}
	maps.Copy(c, fresh)
}

// has tells whether a resource is one of them.
func (c configs) has(r *yaml.RNode) bool {
	for _, config := range c {
		if config == r {
			return true
		}
	}
	return false
}

// of returns the functionConfig of a function; nil for none.
func (c configs) of(f *kptfilev1.Function) (*yaml.RNode, error) {
	if f.ConfigPath != "" {
		return c[path.Clean(f.ConfigPath)], nil
	}
	return configMap(f.ConfigMap)
}

// check makes sure that every functionConfig file is among the resources of the package itself. list is "mutator" or
// "validator".
func (c configs) check(list string, functions []kptfilev1.Function) error {
	var errs []error
	for i := range functions {
		f := &functions[i]
		if f.ConfigPath == "" || c[path.Clean(f.ConfigPath)] != nil {
			continue
		}
		name := f.Name
		if name == "" {
			name = reference.BaseName(f.Image)
		}
		errs = append(errs, &kptfilev1.ValidateError{
			Field: fmt.Sprintf("pipeline.%ss[%d].configPath", list, i),
			Value: f.ConfigPath,
			Reason: fmt.Sprintf("functionConfig resource for %s %q is missing from path %q, this also occurs if %q is part of a subpackage",
				list, name, f.ConfigPath, f.ConfigPath),
		})
	}
	return errors.Join(errs...)
}

// configMap returns the ConfigMap that a Kptfile's configMap stands for; nil for an empty one. All values are strings, in
// quotes, so that no reader takes one for a number or a boolean.
func configMap(data map[string]string) (*yaml.RNode, error) {
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // No configuration is no error.
	}
	values := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		values.Content = append(values.Content, yamlnode.String(key, 0), yamlnode.String(data[key], yaml.DoubleQuotedStyle))
	}
	node, err := yaml.Parse("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: function-input\n")
	if err != nil {
		return nil, err
	}
	return node, node.PipeE(yaml.SetField("data", yaml.NewRNode(values)))
}
