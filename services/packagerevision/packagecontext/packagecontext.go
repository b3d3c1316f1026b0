// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package packagecontext generates the package context, a ConfigMap named kptfile.kpt.dev that contains the package's name and
// location, so that functions can read them. In Porch, the function builtins/gen-pkg-context generates it.
//
// [Generate] adds the context to the files of a package. packagerevision.Handler calls it when it clones a package into a
// deployment repository.
package packagecontext

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/resource"
	"github.com/krmfn/krmfn/internal/yamlprint"
	"github.com/krmfn/krmfn/services/render/packages"
)

// FileName is the file with the context. It is next to the package's Kptfile.
const FileName = "package-context.yaml"

const (
	configMapName = "kptfile.kpt.dev"
	functionName  = "builtins/gen-pkg-context"
)

// Context describes where a package is.
type Context struct {
	// Path is the package's path in its repository: the names of its parent packages and its own, separated by forward slashes.
	Path string
	// Repository is the name of the repository object. Namespace is its namespace.
	Repository, Namespace string
	// Deployment reports whether packages of the repository are deployed. Only these get a generated context.
	Deployment bool
}

// Generate returns the files of a package, keyed by path, with a generated context. It removes existing contexts, including
// those of subpackages, and adds one next to the root Kptfile, if there is one. Files without a context keep their bytes.
// Generate is idempotent.
//
// Errors are worded like those of Porch's function.
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
	var others []*yaml.RNode // other resources in the context's file
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
			others = left
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
		others = append(others, added)
	}
	if len(others) == 0 {
		return after, nil
	}
	return after, printTo(after, FileName, others)
}

// mayHoldContext reports whether a file must be parsed: the root Kptfile, and YAML files that contain the context's name. Other
// files may not be YAML, for example templates.
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

// data has the keys that Porch writes, followed by keys that Porch only documents.
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
		// The context must not be applied to clusters.
		Metadata: metadata{Name: configMapName, Annotations: map[string]string{"config.kubernetes.io/local-config": "true"}},
		Data:     d,
	}
}

// Placeholder returns the file of a context with only a name. Packages that are not deployed have it, so that functions that
// read the context work on them too.
func Placeholder(name string) (string, error) {
	node, err := yamlprint.Value(newConfigMap(data{Name: name}))
	if err != nil {
		return "", err
	}
	content, err := yamlprint.Print(node, yaml.CompactSequenceStyle)
	return string(content), err
}

// configMap returns the context as a resource of the root package, whose name is given.
func (c Context) configMap(name string) (*yaml.RNode, error) {
	if name == "" {
		return nil, fmt.Errorf("the Kptfile of the package has no metadata.name, which is needed for %s", FileName)
	}
	d := data{Name: name, PackagePath: path.Clean("/" + c.Path)[1:], Repository: c.Repository, Namespace: c.Namespace}
	if c.Deployment {
		d.Deployment = "true"
	}
	n, err := yamlprint.Value(newConfigMap(d))
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", FileName, err)
	}
	r := yaml.NewRNode(n)
	return r, resource.SetAnnotations(r, resource.KeyValue{Key: resource.PathAnnotation, Value: FileName},
		resource.KeyValue{Key: resource.FormerPathAnnotation, Value: FileName})
}
