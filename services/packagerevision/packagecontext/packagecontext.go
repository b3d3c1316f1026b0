// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package packagecontext generates package contexts: the ConfigMap kptfile.kpt.dev, which tells functions in which package,
// and where, they run. Porch calls this the function builtins/gen-pkg-context.
package packagecontext

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/services/render/packages"
	"github.com/krmfn/krmfn/services/render/resource"
	"github.com/krmfn/krmfn/services/render/yamlprint"
)

// FileName is the file of the context, next to the package's Kptfile.
const FileName = "package-context.yaml"

const (
	configMapName = "kptfile.kpt.dev"
	functionName  = "builtins/gen-pkg-context"
)

// Context is where a package is.
type Context struct {
	// Path is the package's path in its repository, with slashes: the names of its parents and its own.
	Path string
	// Repository is the name of the repository, Namespace the namespace that it is registered in.
	Repository, Namespace string
	// Deployment tells whether packages of the repository are deployed. Only they have a context that is generated.
	Deployment bool
}

// Generate puts a context into the files of a package, a map from path to content, and returns the files that it has then.
// It removes all contexts, those of sub-packages too, and adds one next to the root Kptfile, if there is one. Files without
// a context stay byte for byte as they are. Doing it twice is doing it once.
//
// Errors are worded as Porch words those of its function.
func Generate(files map[string]string, context Context) (map[string]string, error) {
	after, err := context.generate(files)
	if err != nil {
		return nil, fmt.Errorf("failed to evaluate function %q: %w", functionName, err)
	}
	return after, nil
}

func (c Context) generate(before map[string]string) (map[string]string, error) {
	after := maps.Clone(before)
	var root *yaml.RNode
	var beside []*yaml.RNode // what else is in the context's file
	for _, p := range slices.Sorted(maps.Keys(before)) {
		if !mayHoldContext(p, before[p]) {
			continue
		}
		all, err := packages.ParseFile(p, []byte(before[p]))
		if err != nil {
			return nil, err
		}
		left := slices.DeleteFunc(slices.Clone(all), isContext)
		for _, r := range left {
			if p == kptfilev1.KptFileName && resource.Kind(r) == kptfilev1.KptFileGVK().Kind {
				root = r
			}
		}
		switch {
		case len(left) == 0 && len(all) > 0:
			delete(after, p)
		case p == FileName:
			beside = left
		case len(left) < len(all):
			if err := printTo(after, p, left); err != nil {
				return nil, err
			}
		}
	}
	if root != nil {
		added, err := c.configMap(resource.Name(root))
		if err != nil {
			return nil, err
		}
		beside = append(beside, added)
	}
	if len(beside) == 0 {
		return after, nil
	}
	return after, printTo(after, FileName, beside)
}

// mayHoldContext tells whether a file has to be read: the root Kptfile, and the files that can hold a context by their names
// and by what is in them. Others may be templates, or anything else that is not YAML.
func mayHoldContext(p, content string) bool {
	if p == kptfilev1.KptFileName || p == FileName {
		return true
	}
	named := path.Ext(p) == ".yaml" || path.Ext(p) == ".yml" || path.Base(p) == kptfilev1.KptFileName
	return named && strings.Contains(content, configMapName)
}

func isContext(r *yaml.RNode) bool {
	return resource.APIVersion(r) == "v1" && resource.Kind(r) == "ConfigMap" && resource.Name(r) == configMapName
}

func printTo(files map[string]string, p string, resources []*yaml.RNode) error {
	content, err := packages.PrintFile(resources)
	if err != nil {
		return fmt.Errorf("print %s: %w", p, err)
	}
	files[p] = string(content)
	return nil
}

// configMap has its fields in the order in which Porch writes them.
type configMap struct {
	yaml.TypeMeta `json:",inline"`
	Metadata      metadata `json:"metadata"`
	Data          data     `json:"data"`
}

type metadata struct {
	Name        string            `json:"name"`
	Annotations map[string]string `json:"annotations"`
}

// data has the keys that Porch has, and then those that it only promises.
type data struct {
	Name        string `json:"name"`
	PackagePath string `json:"package-path,omitempty"`
	Repository  string `json:"repository,omitempty"`
	Namespace   string `json:"namespace,omitempty"`
	Deployment  string `json:"deployment,omitempty"`
}

func newConfigMap(d data) configMap {
	return configMap{
		TypeMeta: yaml.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		// What is local to the package is not applied to clusters.
		Metadata: metadata{Name: configMapName, Annotations: map[string]string{"config.kubernetes.io/local-config": "true"}},
		Data:     d,
	}
}

// Placeholder returns the file of a context that has only a name, for a package that is not deployed: functions that read
// the context work on it too.
func Placeholder(name string) (string, error) {
	node, err := yamlprint.Value(newConfigMap(data{Name: name}))
	if err != nil {
		return "", err
	}
	content, err := yamlprint.Print(node, yaml.CompactSequenceStyle)
	return string(content), err
}

// configMap returns the context of the package with a name as a resource of the root package.
func (c Context) configMap(name string) (*yaml.RNode, error) {
	if name == "" {
		return nil, fmt.Errorf("the Kptfile of the package has no metadata.name to put into %s", FileName)
	}
	d := data{Name: name, PackagePath: path.Clean("/" + c.Path)[1:], Repository: c.Repository, Namespace: c.Namespace}
	if c.Deployment {
		d.Deployment = "true"
	}
	n, err := yamlprint.Value(newConfigMap(d))
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", FileName, err)
	}
	r := yaml.NewRNode(n)
	return r, resource.SetAnnotations(r, resource.KeyValue{Key: resource.PathAnnotation, Value: FileName},
		resource.KeyValue{Key: resource.FormerPathAnnotation, Value: FileName})
}
