// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"fmt"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
	"github.com/krmfn/krmfn/services/render/kptfile"
)

// infoFields maps the fields of packageMetadata to those of info. With list set, a string becomes a list of one element.
var infoFields = []struct {
	old, name string
	list      bool
}{
	{"url", "site", false},
	{"email", "emails", true},
	{"license", "licenseFile", false},
	{"shortDescription", "description", false},
	{"tags", "keywords", false},
	{"man", "man", false},
}

// withoutSuccessor lists fields of v1alpha1 that are invalid in v1, with advice.
var withoutSuccessor = []struct{ name, advice string }{
	{"dependencies", "get them with `kpt pkg get`"},
	{"functions", "add its functions to the pipeline"},
}

// migrateKptfile upgrades a Kptfile to the latest version and records its old definitions. It ignores other items.
func (m migration) migrateKptfile(item *fn.KubeObject) error {
	if item.GetKind() != kptfile.FileName {
		return nil
	}
	var p *pkg
	for _, one := range m.packages {
		if one.kptfile == item {
			p = one
		}
	}
	switch version := item.GetAPIVersion(); version {
	case latest:
		p.log(fmt.Sprintf("Kptfile is already of version %q", latest))
		return nil
	case "kpt.dev/v1alpha2":
	case "kpt.dev/v1alpha1":
		p.old = true
	default:
		return fmt.Errorf("the version of the Kptfile is %q: want kpt.dev/v1alpha1, kpt.dev/v1alpha2 or %s", version, latest)
	}
	return nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (bool, error) {
		p.log(fmt.Sprintf("Updated version of Kptfile from %q to %q", item.GetAPIVersion(), latest))
		if err := nodes.SetString(root, root, "apiVersion", latest); err != nil || !p.old {
			return true, err
		}
		p.readDefinitions(yamlnode.Lookup(root, "openAPI", "definitions"))
		yamlnode.Remove(root, "openAPI")
		p.renamePackageMetadata(root)
		p.splitUpstream(root)
		for _, field := range withoutSuccessor {
			if !yamlnode.IsNull(yamlnode.Field(root, field.name)) {
				p.log(fmt.Sprintf("Removed %q, which version v1 does not have: %s", field.name, field.advice))
			}
			yamlnode.Remove(root, field.name)
		}
		return true, nil
	})
}

// renamePackageMetadata replaces packageMetadata with info, at the same position.
func (p *pkg) renamePackageMetadata(root *yaml.Node) {
	at := yamlnode.Position(root, "packageMetadata")
	if at < 0 {
		return
	}
	old, info := root.Content[at+1], mapping()
	info.Style = old.Style
	for _, field := range infoFields {
		from := yamlnode.Position(old, field.old)
		if from < 0 || yamlnode.IsNull(old.Content[from+1]) {
			continue
		}
		key, value := old.Content[from], old.Content[from+1]
		key.Value = field.name
		if field.list && value.Kind == yaml.ScalarNode {
			value = &yaml.Node{Kind: yaml.SequenceNode, Tag: yaml.NodeTagSeq, Style: old.Style & yaml.FlowStyle, Content: []*yaml.Node{value}}
		}
		info.Content = append(info.Content, key, value)
	}
	root.Content[at].Value, root.Content[at+1] = "info", info
	if len(info.Content) == 0 {
		yamlnode.Remove(root, "info")
	}
	p.log(`Transformed "packageMetadata" to "info"`)
}

// splitUpstream moves the commit in upstream to upstreamLock, which also has a copy of the other fields.
func (p *pkg) splitUpstream(root *yaml.Node) {
	at := yamlnode.Position(root, "upstream")
	if at < 0 || yamlnode.IsNull(root.Content[at+1]) {
		yamlnode.Remove(root, "upstream")
		return
	}
	old := root.Content[at+1]
	git := yamlnode.Lookup(old, "git")
	field := func(name string) string { return yamlnode.Text(yamlnode.Field(git, name)) }
	wanted := [...]string{"repo", field("repo"), "directory", field("directory"), "ref", field("ref")}
	upstream, lock := mapping("type", "git"), mapping("type", "git")
	upstream.Content = append(upstream.Content, nodes.String("git"), mapping(wanted[:]...))
	lock.Content = append(lock.Content, nodes.String("git"), mapping(append(wanted[:], "commit", field("commit"))...))
	root.Content[at+1] = upstream
	yamlnode.Remove(root, "upstreamLock")
	root.Content = append(root.Content, nodes.String("upstreamLock"), lock)
	p.log(`Transformed "upstream" to "upstream" and "upstreamLock"`)
}

// appendSteps appends steps to the mutators of a Kptfile.
func appendSteps(item *fn.KubeObject, steps []*yaml.Node) {
	root := function.NodeOf(item)
	pipeline := yamlnode.Field(root, "pipeline")
	if yamlnode.IsNull(pipeline) {
		pipeline = yamlnode.MakeMapping(root, nodes.String("pipeline"))
	}
	mutators := yamlnode.Field(pipeline, "mutators")
	if yamlnode.IsNull(mutators) {
		mutators = yamlnode.MakeMapping(pipeline, nodes.String("mutators"))
		mutators.Kind, mutators.Tag = yaml.SequenceNode, yaml.NodeTagSeq
	}
	mutators.Content = append(mutators.Content, steps...)
}
