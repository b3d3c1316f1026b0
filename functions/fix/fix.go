// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package fix implements the function fix.
package fix

import (
	"context"
	"errors"
	"path"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/origin"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// Function is the function fix.
var Function = function.Function{
	Name:    "fix",
	Version: "v0.2.1",
	Summary: "upgrades packages of older versions of kpt to kpt.dev/v1: Kptfiles, setters and functions",
	Traits:  function.Traits{Worker: true, Deterministic: true},
	Config: "none: it needs the Kptfile among the resources, as `fn render` has it, and `fn eval` with " +
		"--include-meta-resources",
	Process:   fix,
	KeepsList: true,
}

const latest = "kpt.dev/v1"

// fix migrates every package with a Kptfile. Packages of the latest version stay unchanged.
func fix(ctx context.Context, rl *fn.ResourceList) (bool, error) {
	m := migration{byDir: map[string]*pkg{}}
	for _, item := range rl.Items {
		if item.GetKind() != kptfile.FileName {
			continue
		}
		file := origin.File(item).Path
		p := &pkg{dir: path.Dir(path.Join("/", file)), file: file, kptfile: item, definitions: map[string]definition{}}
		m.byDir[p.dir] = p
		m.packages = append(m.packages, p)
	}
	if len(m.packages) == 0 {
		rl.LogResult(errors.New("failed to find Kptfile, please include --include-meta-resources flag if a Kptfile is present"))
		return false, nil
	}
	ok, err := nodes.Each(ctx, rl, m.migrateKptfile)
	if err != nil || !ok {
		return false, err
	}
	ok, err = nodes.Each(ctx, rl, m.migrateResource)
	if err != nil || !ok {
		return false, err
	}
	for _, p := range m.packages {
		if config := p.addPipeline(); config != nil {
			rl.Items = append(rl.Items, config)
		}
		rl.LogResult(p.results)
	}
	return true, nil
}

// migration holds the packages of one list.
type migration struct {
	packages []*pkg
	byDir    map[string]*pkg
}

// pkg is a package and the results of analysing it.
type pkg struct {
	dir         string // the Kptfile's directory, starting with "/"
	file        string // the Kptfile's path as in its annotation
	kptfile     *fn.KubeObject
	old         bool // its version is v1alpha1
	definitions map[string]definition
	setters     []string     // names in the order of their definitions
	steps       []*yaml.Node // pipeline steps for functions that were declared as resources
	results     fn.Results
}

func (p *pkg) log(message string) {
	result := fn.GeneralResult(message, fn.Info)
	if p.file != "" {
		result.File = &fn.File{Path: p.file}
	}
	p.results = append(p.results, result)
}

// packageOf returns the package of a resource: the nearest one around its file.
func (m migration) packageOf(item *fn.KubeObject) *pkg {
	for dir := path.Dir(path.Join("/", origin.File(item).Path)); ; dir = path.Dir(dir) {
		if p := m.byDir[dir]; p != nil || dir == "/" {
			return p
		}
	}
}

// define returns the setter or substitution with a name in the package, or else in the nearest package around it.
func (m migration) define(p *pkg, name string) (definition, bool) {
	for dir := p.dir; ; dir = path.Dir(dir) {
		if around := m.byDir[dir]; around != nil {
			if d, ok := around.definitions[name]; ok {
				return d, true
			}
		}
		if dir == "/" {
			return definition{}, false
		}
	}
}

// functionAnnotations are old annotations that declare a resource as a function with its configuration.
var functionAnnotations = []string{"config.kubernetes.io/function", "config.k8s.io/function"}

// migrateResource rewrites setter comments and adds a function that the resource declares to the pipeline of its package.
func (m migration) migrateResource(item *fn.KubeObject) error {
	p := m.packageOf(item)
	if p == nil || item == p.kptfile || !p.old {
		return nil
	}
	return nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (bool, error) {
		changed := m.migrateComments(p, root)
		declared, err := p.takeFunction(root, origin.File(item).Path)
		return changed || declared, err
	})
}

func (p *pkg) takeFunction(root *yaml.Node, file string) (bool, error) {
	annotations := yamlnode.Lookup(root, "metadata", "annotations")
	for _, annotation := range functionAnnotations {
		text := yamlnode.Text(yamlnode.Field(annotations, annotation))
		if text == "" {
			continue
		}
		var declared struct {
			Image     string `yaml:"image"`
			Container struct {
				Image string `yaml:"image"`
			} `yaml:"container"`
		}
		if err := yaml.Unmarshal([]byte(text), &declared); err != nil {
			return false, errors.New("annotation " + annotation + ": " + nodes.OneLine(err))
		}
		image := declared.Container.Image + declared.Image
		if image == "" {
			p.log("Annotation \"" + annotation + "\" in file \"" + file + "\" names no image, please add the function to the pipeline")
			continue
		}
		config := strings.TrimPrefix(strings.TrimPrefix(path.Join("/", file), p.dir), "/")
		p.steps = append(p.steps, mapping("image", image, "configPath", config))
		p.log("Added \"" + image + "\" to mutators list, please move it to validators section if it is a validator function")
		yamlnode.Remove(annotations, functionAnnotations...)
		return true, nodes.SetString(root, annotations, fn.KptLocalConfig, "true")
	}
	return false, nil
}

// mapping returns a block mapping of strings from alternating keys and values.
func mapping(texts ...string) *yaml.Node {
	m := &yaml.Node{Kind: yaml.MappingNode, Tag: yaml.NodeTagMap}
	for _, text := range texts {
		m.Content = append(m.Content, nodes.String(text))
	}
	return m
}
