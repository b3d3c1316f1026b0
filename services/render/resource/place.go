// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package resource

import (
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/kyaml/yaml"
)

// Path returns the file that a resource belongs to, relative to its package; "" when it has no annotation that says so.
func Path(r *yaml.RNode) string { return either(r, PathAnnotation, FormerPathAnnotation) }

// Index returns the place of a resource in its file as its annotation has it; "" when it has none.
func Index(r *yaml.RNode) string { return either(r, IndexAnnotation, FormerIndexAnnotation) }

func either(r *yaml.RNode, key, former string) string {
	if value, ok := LookupAnnotation(r, key); ok {
		return value
	}
	return Annotation(r, former)
}

// SetDefaultPath gives a resource that has no path the one that kpt gives it: [namespace/]kind_name.yaml.
func SetDefaultPath(r *yaml.RNode) error {
	if Path(r) != "" {
		return nil
	}
	p := path.Join(Namespace(r), fmt.Sprintf("%s_%s.yaml", strings.ToLower(Kind(r)), Name(r)))
	if err := SetAnnotation(r, PathAnnotation, p); err != nil {
		return err
	}
	return SetAnnotation(r, FormerPathAnnotation, p)
}

// Reconcile makes path and index agree in both of their forms after a function may have changed either. path and index
// are the values before; empty for resources that are new. It is an error when both forms changed, each to something else.
func Reconcile(r *yaml.RNode, path, index string) error {
	if err := reconcile(r, "path", PathAnnotation, FormerPathAnnotation, path); err != nil {
		return err
	}
	return reconcile(r, "index", IndexAnnotation, FormerIndexAnnotation, index)
}

func reconcile(r *yaml.RNode, word, key, formerKey, before string) error {
	value, former := Annotation(r, key), Annotation(r, formerKey)
	switch {
	case value == former:
		return nil
	case value == "", value == before && former != "":
		return SetAnnotation(r, key, former)
	case former == "", former == before:
		return SetAnnotation(r, formerKey, value)
	}
	return fmt.Errorf("resource input to function has mismatched legacy and internal %s annotations", word)
}
