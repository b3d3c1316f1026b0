// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

// Package resource reads and edits single KRM resources: identity, annotations, origin. It works on YAML nodes directly,
// because a render calls it many times per resource.
package resource

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	kptfilev1 "github.com/kptdev/kpt/api/kptfile/v1"
	"sigs.k8s.io/kustomize/kyaml/yaml"

	"github.com/krmfn/krmfn/internal/yamlnode"
)

// APIVersion returns the resource's apiVersion, or "" if it has none.
func APIVersion(r *yaml.RNode) string { return text(r, yaml.APIVersionField) }

// Kind returns the resource's kind, or "" if it has none.
func Kind(r *yaml.RNode) string { return text(r, yaml.KindField) }

// Name returns the resource's metadata.name, or "" if it has none.
func Name(r *yaml.RNode) string { return text(r, yaml.MetadataField, yaml.NameField) }

// Namespace returns the resource's metadata.namespace, or "" if it has none.
func Namespace(r *yaml.RNode) string { return text(r, yaml.MetadataField, yaml.NamespaceField) }

// Label returns the value of a label. ok reports whether the resource has it.
func Label(r *yaml.RNode, key string) (value string, ok bool) {
	n := yamlnode.Lookup(r.YNode(), yaml.MetadataField, yaml.LabelsField, key)
	return yamlnode.Text(n), n != nil
}

func text(r *yaml.RNode, path ...string) string {
	return yamlnode.Text(yamlnode.Lookup(r.YNode(), path...))
}

// CheckKRM returns an error unless the resource is a KRM resource, which has apiVersion, kind and metadata.name. Kustomization
// files, recognised by name or type, always pass. The error texts are kpt's.
func CheckKRM(r *yaml.RNode) error {
	apiVersion, kind, name := APIVersion(r), Kind(r), Name(r)
	if apiVersion != "" && kind != "" && name != "" || isKustomization(r) {
		return nil
	}
	meta := yamlnode.Lookup(r.YNode(), yaml.MetadataField)
	switch {
	case apiVersion == "" && kind == "" && (meta == nil || len(meta.Content) == 0):
		return errors.New("resource must have `apiVersion`, `kind`, and `name`")
	case apiVersion == "":
		return errors.New("resource must have `apiVersion`")
	case kind == "":
		return errors.New("resource must have `kind`")
	case name == "":
		return errors.New("resource must have `metadata.name`")
	}
	return nil
}

func isKustomization(r *yaml.RNode) bool {
	if slices.Contains(kptfilev1.RecognizedKustomizationFileNames(), path.Base(Path(r))) {
		return true
	}
	apiVersion := APIVersion(r)
	return strings.HasPrefix(apiVersion, "kustomize.config.k8s.io") || (apiVersion == "" && Kind(r) == "Kustomization")
}

// Path returns the path of the resource's file relative to its package, or "" if no annotation has it.
func Path(r *yaml.RNode) string { return either(r, PathAnnotation, FormerPathAnnotation) }

// Index returns the index annotation, which is the position of the resource in its file, or "" if there is none.
func Index(r *yaml.RNode) string { return either(r, IndexAnnotation, FormerIndexAnnotation) }

func either(r *yaml.RNode, key, former string) string {
	if value, ok := LookupAnnotation(r, key); ok {
		return value
	}
	return Annotation(r, former)
}

// SetDefaultPath sets kpt's default path for a resource without a path: [namespace/]kind_name.yaml.
func SetDefaultPath(r *yaml.RNode) error {
	if Path(r) != "" {
		return nil
	}
	p := path.Join(Namespace(r), fmt.Sprintf("%s_%s.yaml", strings.ToLower(Kind(r)), Name(r)))
	return SetAnnotations(r, KeyValue{PathAnnotation, p}, KeyValue{FormerPathAnnotation, p})
}
