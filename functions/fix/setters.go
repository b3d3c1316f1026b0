// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/functions/internal/setters"
	"github.com/krmfn/krmfn/internal/yamlnode"
)

// definition is a setter or substitution. A v1alpha1 Kptfile defines it in OpenAPI format.
type definition struct {
	substitution bool
	value        string // of a setter
	description  string
	pattern      string
	markers      map[string]string // of a substitution: names by marker in the pattern
}

const (
	setterPrefix       = "io.k8s.cli.setters."
	substitutionPrefix = "io.k8s.cli.substitutions."
	definitionsPath    = "#/definitions/"
)

// readDefinitions reads the definitions of a Kptfile.
func (p *pkg) readDefinitions(all *yaml.Node) {
	for i := 0; all != nil && i+1 < len(all.Content); i += 2 {
		key, body := all.Content[i].Value, all.Content[i+1]
		d := definition{description: yamlnode.Text(yamlnode.Field(body, "description"))}
		if name, ok := strings.CutPrefix(key, setterPrefix); ok {
			d.value = setterValue(yamlnode.Lookup(body, "x-k8s-cli", "setter"))
			p.definitions[name] = d
			p.setters = append(p.setters, name)
		} else if name, ok := strings.CutPrefix(key, substitutionPrefix); ok {
			substitution := yamlnode.Lookup(body, "x-k8s-cli", "substitution")
			d.substitution, d.pattern, d.markers = true, yamlnode.Text(yamlnode.Field(substitution, "pattern")), map[string]string{}
			if values := yamlnode.Lookup(substitution, "values"); values != nil {
				for _, value := range values.Content {
					d.markers[yamlnode.Text(yamlnode.Field(value, "marker"))] = nameIn(yamlnode.Text(yamlnode.Field(value, "ref")))
				}
			}
			p.definitions[name] = d
		}
	}
}

// setterValue returns the value of a setter: a list as a flow list, and an enumeration as the value it maps to.
func setterValue(setter *yaml.Node) string {
	if list := yamlnode.Lookup(setter, "listValues"); list != nil && list.Kind == yaml.SequenceNode {
		texts := make([]string, len(list.Content))
		for i, element := range list.Content {
			texts[i] = yamlnode.Text(element)
		}
		return "[" + strings.Join(texts, ", ") + "]"
	}
	value := yamlnode.Text(yamlnode.Lookup(setter, "value"))
	if meant := yamlnode.Lookup(setter, "enumValues", value); meant != nil {
		return yamlnode.Text(meant)
	}
	return value
}

// nameIn returns the name in a reference to a definition.
func nameIn(ref string) string {
	name := strings.TrimPrefix(ref, definitionsPath)
	return strings.TrimPrefix(strings.TrimPrefix(name, setterPrefix), substitutionPrefix)
}

// oldComment matches an old comment that refers to a definition.
var oldComment = regexp.MustCompile(`\{\s*"(?:\$openapi|\$kpt-set|\$ref)"\s*:\s*"([^"]+)"[^{}]*\}`)

// migrateComments rewrites the comments of a resource that refer to definitions.
func (m migration) migrateComments(p *pkg, node *yaml.Node) (changed bool) {
	for _, comment := range []*string{&node.HeadComment, &node.LineComment, &node.FootComment} {
		match := oldComment.FindStringSubmatch(*comment)
		if match == nil {
			continue
		}
		*comment = strings.Replace(*comment, match[0], setters.Comment+m.pattern(p, nameIn(match[1]), map[string]bool{}), 1)
		changed = true
	}
	for _, below := range node.Content {
		changed = m.migrateComments(p, below) || changed
	}
	return changed
}

// pattern returns the pattern for a name. Substitutions may contain others; a recursive one is replaced with a reference to its
// name.
func (m migration) pattern(p *pkg, name string, within map[string]bool) string {
	d, ok := m.define(p, name)
	if !ok || !d.substitution || within[name] {
		return "${" + name + "}"
	}
	within[name] = true
	defer delete(within, name)
	return marker.ReplaceAllStringFunc(d.pattern, func(text string) string {
		if name, ok := d.markers[text]; ok {
			return m.pattern(p, name, within)
		}
		return text
	})
}

var marker = regexp.MustCompile(`\$\{[^}]*\}`)

const settersFile = "setters.yaml"

// addPipeline adds the steps to the Kptfile's pipeline. It returns the file with the setters' values, or nil if there are none.
func (p *pkg) addPipeline() *fn.KubeObject {
	var config *fn.KubeObject
	if len(p.setters) > 0 {
		const image = "gcr.io/kpt-fn/apply-setters:v0.2"
		p.steps = append(p.steps, mapping("image", image, "configPath", settersFile))
		p.log(fmt.Sprintf("Transformed \"openAPI\" definitions to %q function with the values in %q", image, settersFile))
		config = p.settersConfig()
	}
	if len(p.steps) == 0 {
		return nil
	}
	appendSteps(p.kptfile, p.steps)
	return config
}

// settersConfig returns the functionConfig of apply-setters. Descriptions of setters become comments.
func (p *pkg) settersConfig() *fn.KubeObject {
	data := mapping()
	for _, name := range p.setters {
		key, value := nodes.String(name), nodes.String(p.definitions[name].value)
		if description := p.definitions[name].description; description != "" {
			key.HeadComment = "# " + strings.ReplaceAll(strings.TrimSpace(description), "\n", "\n# ")
		}
		data.Content = append(data.Content, key, value)
	}
	annotations := mapping(fn.KptLocalConfig, "true")
	if p.file != "" {
		file := path.Join(path.Dir(p.file), settersFile)
		annotations.Content = append(annotations.Content, mapping(fn.PathAnnotation, file, fn.IndexAnnotation, "0").Content...)
	}
	metadata := mapping("name", "setters")
	metadata.Content = append(metadata.Content, nodes.String("annotations"), annotations)
	root := mapping("apiVersion", "v1", "kind", "ConfigMap")
	root.Content = append(root.Content, nodes.String("metadata"), metadata, nodes.String("data"), data)
	return fn.MoveToKubeObject(yaml.NewRNode(root))
}
