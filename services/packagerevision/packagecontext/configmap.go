// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package packagecontext

import (
	"fmt"
	"path"

	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/resource"
)

// configMap has its fields in the order in which Porch writes them.
type configMap struct {
	yaml.TypeMeta `yaml:",inline"`
	Metadata      metadata `yaml:"metadata"`
	Data          data     `yaml:"data"`
}

type metadata struct {
	Name        string            `yaml:"name"`
	Annotations map[string]string `yaml:"annotations"`
}

// data has the keys that Porch has, and then those that it only promises.
type data struct {
	Name        string `yaml:"name"`
	PackagePath string `yaml:"package-path,omitempty"`
	Repository  string `yaml:"repository,omitempty"`
	Namespace   string `yaml:"namespace,omitempty"`
	Deployment  string `yaml:"deployment,omitempty"`
}

func newConfigMap(d data) configMap {
	return configMap{
		TypeMeta: yaml.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		// What is local to the package is not applied to clusters.
		Metadata: metadata{Name: ConfigMapName, Annotations: map[string]string{"config.kubernetes.io/local-config": "true"}},
		Data:     d,
	}
}

// Placeholder returns the file of a context that says no more than a name: what a package has that is not deployed, so that
// functions which read the context work on it too.
func Placeholder(name string) (string, error) {
	content, err := yaml.Marshal(newConfigMap(data{Name: name}))
	return string(content), err
}

// resource returns the ConfigMap as a resource of the root package.
func (c Context) resource(name string) (*yaml.RNode, error) {
	d := data{Name: name, PackagePath: path.Clean("/" + c.Path)[1:], Repository: c.Repository, Namespace: c.Namespace}
	if c.Deployment {
		d.Deployment = "true"
	}
	n := &yaml.Node{}
	if err := n.Encode(newConfigMap(d)); err != nil {
		return nil, fmt.Errorf("make %s: %w", FileName, err)
	}
	r := yaml.NewRNode(n)
	for _, key := range []string{resource.PathAnnotation, resource.FormerPathAnnotation} {
		if err := resource.SetAnnotation(r, key, FileName); err != nil {
			return nil, err
		}
	}
	return r, nil
}
