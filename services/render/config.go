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

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/images/reference"
)

// configs maps the clean path of each functionConfig file of a pipeline to its resource; nil if the resource is not found.
type configs map[string]*yaml.RNode

// newConfigs returns the functionConfig files that functions name, with their resources.
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

// refresh updates the functionConfigs after a function has run. If a resource is no longer in its file, the previous one stays.
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

// has reports whether a resource is a functionConfig.
func (c configs) has(r *yaml.RNode) bool {
	for _, config := range c {
		if config == r {
			return true
		}
	}
	return false
}

// of returns the functionConfig of a function; nil if it has none.
func (c configs) of(f *kptfilev1.Function) (*yaml.RNode, error) {
	if f.ConfigPath != "" {
		return c[path.Clean(f.ConfigPath)], nil
	}
	return configMap(f.ConfigMap)
}

// check returns an error if a functionConfig file is not among the package's own resources. list is "mutator" or "validator".
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

// configMap returns the ConfigMap for a Kptfile's configMap; nil if that is empty. All values are quoted strings, so that no
// function parses them as numbers or booleans.
func configMap(data map[string]string) (*yaml.RNode, error) {
	if len(data) == 0 {
		return nil, nil //nolint:nilnil // no configuration is not an error
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
