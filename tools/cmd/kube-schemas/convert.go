// Copyright The krmfn Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// convert reads an OpenAPI v2 document and writes a line for each shared definition, sorted by name: the name, the kinds of the resource,
// and the schema, separated by tabs.
func convert(openAPI []byte, out io.Writer) error {
	// The rest of the document describes paths. Decoding it strictly would fail.
	var sections struct {
		Definitions json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal(openAPI, &sections); err != nil {
		return err
	}
	if len(sections.Definitions) == 0 {
		return errors.New("the document has no definitions")
	}
	var all definitions
	decoder := json.NewDecoder(bytes.NewReader(sections.Definitions))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&all); err != nil {
		return err
	}
	if quantity := all[quantityName]; quantity != nil {
		quantity.Format = quantityFormat
	}

	for _, name := range slices.Sorted(maps.Keys(all)) {
		def := all[name]
		if !def.shared() {
			continue
		}
		body, err := all.object(def)
		if err != nil {
			return fmt.Errorf("definition %s: %w", name, err)
		}
		text, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("definition %s: %w", name, err)
		}
		if _, err := fmt.Fprintf(out, "%s\t%s\t%s\n", name, strings.Join(def.kinds(), ","), text); err != nil {
			return err
		}
	}
	return nil
}

// definitions holds the types of an OpenAPI document by name.
type definitions map[string]*definition

// object converts a shared definition. It allows null, because most fields that refer to it can be null.
func (all definitions) object(def *definition) (*schema, error) {
	if def.Type != "object" || def.Items != nil || def.AdditionalProperties != nil {
		return nil, errors.New("want an object with named fields only")
	}
	out := &schema{Type: []string{def.Type, "null"}, Required: def.Required, Properties: map[string]*schema{}}
	for field, value := range def.Properties {
		converted, err := all.value(value, slices.Contains(def.Required, field))
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", field, err)
		}
		out.Properties[field] = converted
	}
	for _, gvk := range def.Kinds {
		out.allow("apiVersion", gvk.apiVersion())
		out.allow("kind", gvk.Kind)
	}
	return out, nil
}

// value converts the value of a field, a list or a map. A value that is not required can be null, which the API server treats as unset.
func (all definitions) value(def *definition, required bool) (*schema, error) {
	switch {
	case def == nil:
		return nil, nil
	case def.Ref != "":
		return all.reference(def.Ref, required)
	case def.shared():
		return nil, errors.New("an object with named fields within another definition: want a reference")
	}

	out := &schema{Type: def.types()}
	if len(out.Type) > 0 && !required {
		out.Type = append(out.Type, "null")
	}
	if def.Format == "date-time" { // the only format that JSON Schema shares with Kubernetes
		out.Format = def.Format
	}
	var err error
	if out.Items, err = all.value(def.Items, false); err != nil {
		return nil, err
	}
	out.AdditionalProperties, err = all.value(def.AdditionalProperties, false)
	return out, err
}

// reference converts a reference: to the name of a shared definition, or to the schema of another definition.
func (all definitions) reference(ref string, required bool) (*schema, error) {
	name, local := strings.CutPrefix(ref, "#/definitions/")
	target := all[name]
	switch {
	case !local || target == nil:
		return nil, fmt.Errorf("reference %q has no target", ref)
	case !target.shared():
		return all.value(target, required)
	case required:
		return &schema{Type: []string{"object"}, AllOf: []*schema{{Ref: name}}}, nil
	default:
		return &schema{Ref: name}, nil
	}
}

// definition is a schema of OpenAPI v2 with the keywords that Kubernetes uses. Other keywords are errors, because schemas without them
// would accept invalid resources.
type definition struct {
	Ref                  string                 `json:"$ref"`
	Type                 string                 `json:"type"`
	Format               string                 `json:"format"`
	Properties           map[string]*definition `json:"properties"`
	Required             []string               `json:"required"`
	Items                *definition            `json:"items"`
	AdditionalProperties *definition            `json:"additionalProperties"`
	Kinds                []groupVersionKind     `json:"x-kubernetes-group-version-kind"`

	// These keywords do not restrict resources.
	Description   json.RawMessage `json:"description"`
	ListType      json.RawMessage `json:"x-kubernetes-list-type"`
	ListMapKeys   json.RawMessage `json:"x-kubernetes-list-map-keys"`
	MapType       json.RawMessage `json:"x-kubernetes-map-type"`
	PatchMergeKey json.RawMessage `json:"x-kubernetes-patch-merge-key"`
	PatchStrategy json.RawMessage `json:"x-kubernetes-patch-strategy"`
	Unions        json.RawMessage `json:"x-kubernetes-unions"`
}

// shared reports whether other schemas refer to the definition: whether it is an object with fields, or a kind.
func (def *definition) shared() bool {
	return len(def.Properties) > 0 || len(def.Kinds) > 0
}

// quantityName is the name of the definition of quantities, such as 500m. The document has no format for them, so convert sets
// quantityFormat.
const (
	quantityName   = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	quantityFormat = "quantity"
)

// types returns the JSON types of a value; nil means any. OpenAPI v2 allows one type only, so Kubernetes gives values that can also be
// numbers the type string.
func (def *definition) types() []string {
	switch {
	case def.Type == "":
		return nil
	case def.Format == "int-or-string":
		return []string{"integer", "string"}
	case def.Format == quantityFormat:
		return []string{"number", "string"}
	default:
		return []string{def.Type}
	}
}

// kinds returns the kinds of resources of a definition, as apiVersion/kind, sorted.
func (def *definition) kinds() []string {
	names := make([]string, 0, len(def.Kinds))
	for _, gvk := range def.Kinds {
		names = append(names, gvk.apiVersion()+"/"+gvk.Kind)
	}
	slices.Sort(names)
	return names
}

type groupVersionKind struct {
	Group   string `json:"group"`
	Version string `json:"version"`
	Kind    string `json:"kind"`
}

// apiVersion returns the value of the field apiVersion in a resource.
func (gvk groupVersionKind) apiVersion() string {
	if gvk.Group == "" {
		return gvk.Version
	}
	return gvk.Group + "/" + gvk.Version
}

// schema is a JSON schema (draft 4) with the keywords that the conversion uses.
type schema struct {
	Ref                  string             `json:"$ref,omitempty"`
	AllOf                []*schema          `json:"allOf,omitempty"`
	Type                 []string           `json:"type,omitempty"`
	Format               string             `json:"format,omitempty"`
	Enum                 []string           `json:"enum,omitempty"`
	Required             []string           `json:"required,omitempty"`
	Properties           map[string]*schema `json:"properties,omitempty"`
	Items                *schema            `json:"items,omitempty"`
	AdditionalProperties *schema            `json:"additionalProperties,omitempty"`
}

// allow adds an allowed value of a field. It does nothing if the object lacks the field.
func (s *schema) allow(field, value string) {
	if sub := s.Properties[field]; sub != nil && !slices.Contains(sub.Enum, value) {
		sub.Enum = append(sub.Enum, value)
	}
}
