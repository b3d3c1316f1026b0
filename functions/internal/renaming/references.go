// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package renaming

import (
	"slices"
	"strings"

	"github.com/kptdev/krm-functions-sdk/go/fn"
	"sigs.k8s.io/kustomize/api/filters/fieldspec"
	"sigs.k8s.io/kustomize/kyaml/resid"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/functions/internal/fieldspecs"
	"github.com/krmfn/krmfn/functions/internal/identity"
	"github.com/krmfn/krmfn/functions/internal/nodes"
	"github.com/krmfn/krmfn/internal/yamlnode"
	"github.com/krmfn/krmfn/services/evaluation/function"
)

// renamedItems maps the old names of renamed resources to their old identities.
type renamedItems map[string][]resid.ResId

const dependsOn = "config.kubernetes.io/depends-on"

// followDependencies updates the names in an item's depends-on annotation. It does not compare namespaces, because a later
// function may set them.
func (r renamedItems) followDependencies(item *fn.KubeObject, newName func(string) string) error {
	if item.GetAnnotation(dependsOn) == "" {
		return nil
	}
	return nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (bool, error) {
		annotation := yamlnode.Field(yamlnode.Field(yamlnode.Field(root, "metadata"), "annotations"), dependsOn)
		dependencies := strings.Split(annotation.Value, ",")
		for i, dependency := range dependencies {
			// GROUP/KIND/NAME or GROUP/namespaces/NAMESPACE/KIND/NAME
			parts := strings.Split(strings.TrimSpace(dependency), "/")
			last := len(parts) - 1
			if last != 2 && last != 4 {
				continue
			}
			means := func(id resid.ResId) bool { return id.Group == parts[0] && id.Kind == parts[last-1] }
			if slices.ContainsFunc(r[parts[last]], means) {
				dependencies[i] = strings.Replace(dependency, strings.Join(parts, "/"),
					strings.Join(append(parts[:last:last], newName(parts[last])), "/"), 1)
			}
		}
		text := strings.Join(dependencies, ",")
		if text == annotation.Value {
			return false, nil
		}
		nodes.SetText(annotation, text)
		return true, nil
	})
}

func (r renamedItems) followReferences(item *fn.KubeObject, newName func(string) string) error {
	references := fieldspecs.NameReferences()[item.GetKind()]
	if len(references) == 0 {
		return nil
	}
	return nodes.EditUnshared(function.NodeOf(item), func(root *yaml.Node) (bool, error) {
		edit := referenceEdit{renamed: r, newName: newName, referrer: identity.Of(root)}
		for _, reference := range references {
			edit.NameReference = reference
			filter := fieldspec.Filter{FieldSpec: reference.Field, SetValue: func(value *yaml.RNode) error {
				edit.value(value.YNode())
				return nil
			}}
			if _, err := filter.Filter(yaml.NewRNode(root)); err != nil {
				return edit.changed, err
			}
		}
		return edit.changed, nil
	})
}

type referenceEdit struct {
	fieldspecs.NameReference
	renamed  renamedItems
	newName  func(string) string
	referrer resid.ResId
	changed  bool
}

// value updates the value of a reference field: a name, a mapping with a name, a rule, or a list of these.
func (e *referenceEdit) value(value *yaml.Node) {
	switch {
	case value.Kind == yaml.SequenceNode:
		for _, element := range value.Content {
			e.value(element)
		}
	case value.Kind == yaml.MappingNode && e.RuleFor != "":
		if names := yamlnode.Field(value, "resourceNames"); names != nil && grants(value, e.RuleFor) {
			rest := *e
			rest.RuleFor = ""
			rest.value(names)
			e.changed = rest.changed
		}
	case value.Kind == yaml.MappingNode:
		kind := yamlnode.Field(value, "kind")
		if name := yamlnode.Field(value, "name"); name != nil && (kind == nil || kind.Value == e.Target.Kind) {
			e.name(name, yamlnode.Field(value, "namespace"))
		}
	default:
		e.name(value, nil)
	}
}

// name updates a name if it refers to a renamed resource.
func (e *referenceEdit) name(name, namespace *yaml.Node) {
	means := func(id resid.ResId) bool {
		return id.IsSelected(&e.Target) && e.canRefer(id) &&
			(yamlnode.IsNull(namespace) || namespace.Value == "" || namespace.Value == id.EffectiveNamespace())
	}
	if name.Kind == yaml.ScalarNode && slices.ContainsFunc(e.renamed[name.Value], means) {
		nodes.SetText(name, e.newName(name.Value))
		e.changed = true
	}
}

// canRefer reports whether the referrer can refer to a resource: it is in the same namespace, or one of the two is cluster-scoped.
// A RoleBinding can refer to service accounts in any namespace.
func (e *referenceEdit) canRefer(id resid.ResId) bool {
	return e.referrer.IsClusterScoped() || id.IsClusterScoped() || e.referrer.IsNsEquals(id) ||
		id.Kind == "ServiceAccount" && e.referrer.Kind == "RoleBinding"
}

func grants(rule *yaml.Node, resources string) bool {
	granted := yamlnode.Field(rule, "resources")
	return granted != nil && slices.ContainsFunc(granted.Content, func(granted *yaml.Node) bool {
		name, _, _ := strings.Cut(granted.Value, "/") // without a subresource, such as status
		return name == resources || name == "*"
	})
}
